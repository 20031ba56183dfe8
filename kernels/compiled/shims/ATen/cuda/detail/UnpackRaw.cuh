// Replaces PyTorch's header of this name; CUDAGeneratorImpl.h has the needed part.
#pragma once
