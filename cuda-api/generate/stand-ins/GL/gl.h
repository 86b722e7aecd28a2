/* The OpenGL types that cudaGL.h mentions. */
#pragma once
typedef unsigned int GLenum;
typedef unsigned int GLuint;
