// clang's own CUDA headers include this one; no random numbers are needed here.
#pragma once
