/* The types of EGL's extensions that cudaEGL.h mentions. */
#pragma once
typedef void *EGLImageKHR;
typedef void *EGLStreamKHR;
typedef void *EGLSyncKHR;
