// In place of PyTorch's header of this name; CUDAGeneratorImpl.h has what is needed of it.
#pragma once
