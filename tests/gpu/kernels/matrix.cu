// One kernel and a launch that checks everything: 0, or the CUDA error of the first call that failed, or -1 for a wrong result.
#include <cuda_runtime.h>

__global__ void archcov_matrix_fill(float *out, float value) { out[threadIdx.x] = value + threadIdx.x; }

extern "C" __attribute__((visibility("default"))) int run(void) {
    float *device = nullptr, host[32] = {0};
    cudaError_t error = cudaMalloc(&device, sizeof host);
    if (error != cudaSuccess) return error;
    archcov_matrix_fill<<<1, 32>>>(device, 7.0f);
    error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(device);
    if (error != cudaSuccess) return error;
    for (int i = 0; i < 32; i++)
        if (host[i] != 7.0f + i) return -1;
    return 0;
}
