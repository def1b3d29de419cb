"""all-MiniLM-L6-v2 in numpy, for the first rows and for teacher vectors. The program does not need it."""
import json, struct
import numpy as np
from scipy.special import erf

HEADS = 12


def load(path):
    """Return the tensors of a safetensors file by name."""
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + n])
    out = {}
    for name, t in head.items():
        if name != "__metadata__" and t["dtype"] == "F32":
            a, b = t["data_offsets"]
            out[name] = np.frombuffer(raw[8 + n + a:8 + n + b], np.float32).reshape(t["shape"])
    return out


def norm(x, w, name):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def gelu(x):
    return x * 0.5 * (1 + erf(x * np.float32(0.70710678)))


def states(ids, w):
    """Return the last hidden states; ids is (texts, length) without padding, with special entries."""
    b, n = ids.shape
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, w, "embeddings.LayerNorm").astype(np.float32)
    for k in range(6):
        p = f"encoder.layer.{k}."
        q, key, v = (linear(x, w, p + "attention.self." + s).reshape(b, n, HEADS, -1).transpose(0, 2, 1, 3) for s in ("query", "key", "value"))
        a = q @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(q.shape[-1]))
        a = np.exp(a - a.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        y = (a @ v).transpose(0, 2, 1, 3).reshape(b, n, -1)
        x = norm(x + linear(y, w, p + "attention.output.dense"), w, p + "attention.output.LayerNorm")
        y = gelu(linear(x, w, p + "intermediate.dense")).astype(np.float32)
        x = norm(x + linear(y, w, p + "output.dense"), w, p + "output.LayerNorm")
    return x


def encode(texts, w, cls=101, sep=102, limit=126):
    """Return normalised mean vectors of lists of ids. Texts of equal length form a batch, so padding is not needed."""
    out = np.zeros((len(texts), 384), np.float32)
    by = {}
    for i, t in enumerate(texts):
        by.setdefault(min(len(t), limit), []).append(i)
    for n, rows in sorted(by.items()):
        step = max(1, 6000 // (n + 2))
        for k in range(0, len(rows), step):
            part = rows[k:k + step]
            x = states(np.array([[cls] + list(texts[i][:n]) + [sep] for i in part]), w).mean(1)
            out[part] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return out
