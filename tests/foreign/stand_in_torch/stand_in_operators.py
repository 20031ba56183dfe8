"""The fused attention operators of PyTorch's CUDA build, for the fake device.

They have the signatures and tuples of native_functions.yaml, the refusals of sdp_utils.cpp, and one
formula for all."""
from __future__ import annotations

import functools
import math
import types
import warnings


class Operators:
    def __init__(self, torch) -> None:
        self.torch = torch
        aten = torch.ops.aten
        self._known = {}
        for name, function in (
            ("_scaled_dot_product_flash_attention", self._flash),
            ("_scaled_dot_product_efficient_attention", self._efficient),
            ("_scaled_dot_product_cudnn_attention", self._cudnn),
            ("_flash_attention_forward", self._flash_varlen),
            ("_efficient_attention_forward", self._efficient_varlen),
        ):
            packet = getattr(aten, name)
            self._known[packet] = function
            for overload in packet.overloads():
                self._known[getattr(packet, overload)] = function
        self._known[torch.nn.functional.scaled_dot_product_attention] = self._sdpa

    def of(self, function):
        """Returns a replacement for a function on cuda:0 that takes host tensors; None if the
        function itself can be called."""
        try:
            return self._known.get(function)
        except TypeError:  # not hashable
            return None

    def attend(self, q, k, v, mask=None, causal=False, scale=None, bottom_right=False):
        """[batch, heads, tokens, dim] -> out, LSE [batch, heads, tokens] in fp32. mask: bool, or
        numbers to add to the logits."""
        torch = self.torch
        group = q.shape[1] // k.shape[1]
        q32, k32, v32 = q.float(), *(t.float().repeat_interleave(group, dim=1) for t in (k, v))
        s = q32 @ k32.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
        rows, keys = s.shape[-2:]
        if causal:
            allowed = torch.ones(rows, keys,
                                 dtype=torch.bool).tril(keys - rows if bottom_right else 0)
            s = s.masked_fill(~allowed, -math.inf)
        if mask is not None:
            s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask.float()
        return self._softmax(s, v32, q.dtype)

    def _softmax(self, s, v32, dtype):
        torch = self.torch
        top = s.amax(-1, keepdim=True) if s.shape[-1] else s.new_full((*s.shape[:-1], 1), -math.inf)
        top = top.masked_fill(top == -math.inf, 0)
        p = torch.exp(s - top)
        total = p.sum(-1, keepdim=True)
        rounded = p.to(dtype).float() if dtype != torch.float32 else p
        out = (rounded @ v32 / total).masked_fill(total == 0, 0)
        return out.to(dtype), (torch.log(total) + top).squeeze(-1)

    # ---- scaled_dot_product_attention ----

    def _sdpa(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
              enable_gqa=False):
        backends = self.torch.backends.cuda
        reasons = []
        for is_on, refusal in ((backends.flash_sdp_enabled, self._no_flash),
                               (backends.cudnn_sdp_enabled, self._no_cudnn),
                               (backends.mem_efficient_sdp_enabled, self._no_efficient)):
            if not is_on():
                continue
            reason = refusal(query, key, value, attn_mask)
            if not reason:
                return self.attend(query, key, value, attn_mask, is_causal, scale)[0]
            reasons.append(reason)
        if backends.math_sdp_enabled():
            return self._math(query, key, value, attn_mask, is_causal, scale)
        for reason in reasons:
            warnings.warn(reason, stacklevel=2)
        raise RuntimeError("No available kernel. Aborting execution.")

    def _math(self, query, key, value, mask, causal, scale):
        out = self.attend(*(t.float() for t in (query, key, value)), mask, causal, scale)[0]
        return out.to(query.dtype)

    def _no_flash(self, q, k, v, mask):
        if mask is not None:
            return "Flash Attention does not support non-null attn_mask."
        return self._no_16_bit("Flash attention", q) or self._unlike_heads("Flash attention", q, v)

    def _no_cudnn(self, q, k, v, mask):
        return self._no_16_bit("cuDNN SDPA", q)

    def _no_efficient(self, q, k, v, mask):
        return ""

    def _no_16_bit(self, what, q):
        if q.dtype == self.torch.float32:
            return (f"Expected query, key and value to all be of dtype: {{Half, BFloat16}} for "
                    f"{what}. Got Query dtype: float")
        return ""

    @staticmethod
    def _unlike_heads(what, q, v):
        return (f"{what} requires q,k,v to have the same last dimension"
                if q.shape[-1] != v.shape[-1] else "")

    def _refuse(self, *reasons):
        for reason in reasons:
            if reason:
                raise RuntimeError(reason)

    # ---- operators that return the LSE ----

    def _flash(self, query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *,
               scale=None):
        self._refuse(self._no_flash(query, key, value, None))
        out, lse = self.attend(query, key, value, None, is_causal, scale)
        return (out, lse, None, None, query.shape[2], key.shape[2], *self._seeds(),
                query.new_empty(0))

    def _efficient(self, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0,
                   is_causal=False, *, scale=None):
        self._refuse("" if query.shape[1] == key.shape[1]
                     else "query and key have other numbers of heads")
        out, lse = self.attend(query, key, value, attn_bias, is_causal, scale)
        padding = -lse.shape[-1] % 32  # the LSE's rows are padded to a multiple of 32
        lse = self.torch.nn.functional.pad(lse, (0, padding), value=math.inf)
        return (out, lse if compute_log_sumexp else lse.new_empty(0), *self._seeds())

    def _cudnn(self, query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0,
               is_causal=False, return_debug_mask=False, *, scale=None):
        self._refuse(self._no_cudnn(query, key, value, attn_bias))
        out, lse = self.attend(query, key, value, attn_bias, is_causal, scale)
        return (out, lse.unsqueeze(-1), None, None, query.shape[2], key.shape[2], *self._seeds(),
                query.new_empty(0))

    def _seeds(self):
        return (self.torch.zeros(2, dtype=self.torch.int64),
                self.torch.zeros(1, dtype=self.torch.int64))

    def _samples(self, q, k, v, starts_q, starts_k):
        for sample in range(len(starts_q) - 1):
            rows, keys = (slice(int(s[sample]), int(s[sample + 1])) for s in (starts_q, starts_k))
            yield rows, (t[part].transpose(0, 1)[None]
                         for t, part in ((q, rows), (k, keys), (v, keys)))

    def _flash_varlen(self, query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p,
                      is_causal, return_debug_mask, *, scale=None, window_size_left=None,
                      window_size_right=None, seqused_k=None, alibi_slopes=None, block_table=None,
                      num_splits=None):
        torch = self.torch
        self._refuse(self._no_16_bit("Flash attention", query),
                     self._unlike_heads("Flash attention", query, value))
        if cum_seq_q is None:
            q, k, v = (t.transpose(1, 2) for t in (query, key, value))
            out, lse = self.attend(q, k, v, None, is_causal, scale, bottom_right=True)
            return out.transpose(1, 2), lse, *self._seeds(), query.new_empty(0)
        out = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
        # FlashAttention-2's value for rows without keys
        lse = torch.full((query.shape[1], query.shape[0]), math.inf)
        if block_table is not None:
            pages = [
                [t[table.long()].flatten(0, 1)[: int(used)]
                 for table, used in zip(block_table, seqused_k)] for t in (key, value)]
            key, value = (torch.cat(samples) for samples in pages)
            cum_seq_k = torch.nn.functional.pad(torch.cumsum(seqused_k, 0), (1, 0))
        for rows, (q, k, v) in self._samples(query, key, value, cum_seq_q, cum_seq_k):
            if rows.stop > rows.start and k.shape[2] > 0:
                visible = self._window(q.shape[2], k.shape[2], is_causal, window_size_left,
                                       window_size_right)
                one, one_lse = self.attend(q, k, v, visible, False, scale)
                out[rows] = one[0].transpose(0, 1)
                lse[:, rows] = one_lse[0].masked_fill(one_lse[0] == -math.inf, math.inf)
        return out, lse, *self._seeds(), query.new_empty(0)

    def _window(self, rows, keys, causal, left, right):
        row, key = self.torch.arange(rows)[:, None] + keys - rows, self.torch.arange(keys)[None, :]
        visible = self.torch.ones(rows, keys, dtype=self.torch.bool)
        right = 0 if causal else right
        if left is not None and left >= 0:
            visible &= key >= row - left
        if right is not None and right >= 0:
            visible &= key <= row + right
        return visible

    def _efficient_varlen(self, query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                          max_seqlen_k, dropout_p, custom_mask_type, compute_log_sumexp=False, *,
                          scale=None, seqlen_k=None, window_size=None):
        """[1, tokens, heads, dim]; custom_mask_type 0: none, 1: causal from the top left, 2: from
        the bottom right."""
        torch = self.torch
        out = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
        longest = -(-max_seqlen_q // 32) * 32
        lse = torch.full((len(cu_seqlens_q) - 1, query.shape[2], longest), math.inf)
        parts = self._samples(query[0], key[0], value[0], cu_seqlens_q, cu_seqlens_k)
        for sample, (rows, (q, k, v)) in enumerate(parts):
            if rows.stop > rows.start:
                one, one_lse = self.attend(q, k, v, None, custom_mask_type != 0, scale,
                                           custom_mask_type == 2)
                out[0, rows] = one[0].transpose(0, 1)
                lse[sample, :, : rows.stop - rows.start] = one_lse[0]
        return out, lse, *self._seeds(), max_seqlen_q, max_seqlen_k

    # ---- FlexAttention and torch.compile ----

    def put_flex_in(self) -> None:
        from torch.nn.attention import flex_attention as module
        torch = self.torch
        eager_mask, eager_flex = module.create_block_mask, module.flex_attention

        @functools.wraps(eager_mask)
        def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cuda", **options):
            if not str(device).startswith("cuda"):
                return eager_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=device, **options)
            return types.SimpleNamespace(mask_mod=mask_mod)

        @functools.wraps(eager_flex)
        def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None,
                           enable_gqa=False, return_lse=False, kernel_options=None, *,
                           return_aux=None):
            if not query.is_cuda:
                return eager_flex(query, key, value, score_mod, block_mask, scale, enable_gqa,
                                  return_lse, kernel_options, return_aux=return_aux)
            group = query.shape[1] // key.shape[1]
            k32, v32 = (t.float().repeat_interleave(group, dim=1) for t in (key, value))
            s = (query.float() @ k32.transpose(-1, -2)
                 * (1 / math.sqrt(query.shape[-1]) if scale is None else scale))
            index = [torch.arange(n, device=query.device).view([-1 if d == axis else 1
                                                                for d in range(4)])
                     for axis, n in enumerate(s.shape)]
            if score_mod is not None:
                s = score_mod(s, *index)
            if block_mask is not None:
                s = s.masked_fill(~block_mask.mask_mod(*index), -math.inf)
            out, lse = self._softmax(s, v32, query.dtype)
            if return_aux is None:
                return out
            return out, types.SimpleNamespace(lse=lse, max_scores=None)
        module.create_block_mask, module.flex_attention = create_block_mask, flex_attention
        torch.compile = (lambda function=None, **_:
                         function if function is not None else (lambda inner: inner))
