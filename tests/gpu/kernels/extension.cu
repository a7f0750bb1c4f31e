// An extension as others write them: a launch on the caller's memory, checked or not. -DKERNEL names the kernel.
#include <cuda_runtime.h>

#ifndef KERNEL
#define KERNEL archcov_fill
#endif

__global__ void KERNEL(float *out, float value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void fill_unchecked(float *out, float value, int n) { KERNEL<<<(n + 255) / 256, 256>>>(out, value, n); }

EXPORT int fill_checked(float *out, float value, int n) {
    fill_unchecked(out, value, n);
    return cudaGetLastError();
}

EXPORT int pending(void) { return cudaPeekAtLastError(); }

EXPORT const char *error_text(int error) { return cudaGetErrorString((cudaError_t)error); }
