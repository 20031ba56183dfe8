"""Dumps of a right and of a wrong output by the package, in NumPy alone."""
import math

import numpy

import plumbline

random = numpy.random.default_rng(1)
q, k, v = random.standard_normal((3, 2, 4, 96, 64)).astype("float16")


def attention(q, k, v, hidden=0):
    logits = numpy.matmul(q.astype("float32"), k.astype("float32").swapaxes(-1, -2))
    logits /= math.sqrt(q.shape[-1])
    seen = numpy.tril(numpy.ones(logits.shape[-2:], bool), -hidden)
    seen[:, 0] = True
    logits = numpy.where(seen, logits, -numpy.inf)
    weights = numpy.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return numpy.matmul(weights, v.astype("float32")).astype("float16")


question = {"causal": "top_left", "layout": "padded_bhsd"}
plumbline.assert_attention(attention(q, k, v), q, k, v, **question)
for name, hidden in (("right", 0), ("wrong", 1)):
    plumbline.save(f"{name}.safetensors", q=q, k=k, v=v, out=attention(q, k, v, hidden), **question)
try:
    plumbline.assert_attention(attention(q, k, v, 1), q, k, v, **question)
except AssertionError as error:
    print(str(error).splitlines()[0])
else:
    raise SystemExit("a kernel that loses a key passed")
