"""Write the first rows of the table: the MiniLM vector of each vocabulary entry, reduced to 256 dimensions, times a frequency weight.

  init.py --model model.safetensors --vocab vocab.txt --out init.npy [--counts counts.npy]
"""
import argparse
import numpy as np
import minilm, text

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for k in ("model", "vocab", "out"):
    p.add_argument("--" + k, required=True)
p.add_argument("--dims", type=int, default=256)
p.add_argument("--raw", help="save the vectors before the projection to this file")
a = p.parse_args()
vocab = text.load_vocab(a.vocab)
w = minilm.load(a.model)
x = np.concatenate([minilm.states(np.array([[101, i, 102] for i in range(k, min(k + 1024, len(vocab)))]), w).mean(1)
                    for k in range(0, len(vocab), 1024)])
if a.raw:
    np.save(a.raw, x.astype(np.float32))
keep = np.array([text.has_row(v) for v in vocab])
mean = x[keep].mean(0)
_, _, vt = np.linalg.svd(x[keep] - mean, full_matrices=False)
y = (x - mean) @ vt[:a.dims].T
rank = np.arange(2, len(vocab) + 2)  # the vocabulary is roughly in order of frequency
prob = 1 / rank / (1 / rank).sum()
y *= (1e-4 / (1e-4 + prob))[:, None]
y[~keep] = 0
y *= 0.0625 / np.sqrt((y[keep] ** 2).mean())
np.save(a.out, y.astype(np.float32))
