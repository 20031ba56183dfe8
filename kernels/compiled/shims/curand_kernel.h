// Replaces cuRAND's header of this name. CUTLASS's example 41 includes it for dropout, which only
// PyTorch's build has (HAS_PYTORCH), so nothing of it is needed.
#pragma once
