/* The EGL types that cudaEGL.h mentions. */
#pragma once
#include <stdint.h>
typedef int32_t EGLint;
