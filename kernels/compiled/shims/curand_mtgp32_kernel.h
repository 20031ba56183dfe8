// clang's own CUDA headers ask for this one; nothing here makes random numbers.
#pragma once
