// What the fatbins beside this file were compiled from, by make.sh.
extern "C" __global__ void twice(float *values, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= 2.0f;
}
