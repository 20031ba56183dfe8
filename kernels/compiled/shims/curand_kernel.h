// In place of cuRAND's header of this name: CUTLASS's example 41 includes it for dropout, which
// only PyTorch's build of it has (HAS_PYTORCH), so that nothing of it is needed.
#pragma once
