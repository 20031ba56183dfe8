"""Prints the first verdict of an installed judge; writes the dump that it judged."""
import sys

import numpy

import plumbline

q, k, v = numpy.random.default_rng(1).standard_normal((3, 2, 4, 96, 64)).astype("float16")
logits = numpy.matmul(q.astype("float32"), k.astype("float32").swapaxes(-1, -2)) / 8
weights = numpy.exp(logits - logits.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
out = numpy.matmul(weights, v.astype("float32")).astype("float16")
plumbline.assert_attention(out, q, k, v, layout="padded_bhsd")
plumbline.save(sys.argv[1], q=q, k=k, v=v, out=out, layout="padded_bhsd")
