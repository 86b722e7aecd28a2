//! What every libcuda.so.1 of ours shares: the list of the driver API's symbols, cuGetProcAddress, cudart's private tables.
