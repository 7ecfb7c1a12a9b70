"""The peer of bench-model: scikit-learn's spectral clustering.

A request is a line "n d k neighbours" and n x d little-endian doubles, row by
row. The answer is a line: seconds of the call, then n labels. Of scikit-learn's
variants the graph of nearest neighbours with LOBPCG was the fastest that finds
the true kinds; with ARPACK the answer depends on the seed where the graph falls
into parts, as it does here.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.cluster import SpectralClustering

warnings.simplefilter("ignore")
while line := sys.stdin.buffer.readline():
    n, d, k, neighbours = map(int, line.split())
    x = np.frombuffer(sys.stdin.buffer.read(8 * n * d), dtype="<f8").reshape(n, d)
    began = time.perf_counter()
    labels = SpectralClustering(
        n_clusters=k,
        affinity="nearest_neighbors",
        n_neighbors=8 if n <= 2000 else 20,
        eigen_solver="lobpcg",
        random_state=0,
    ).fit_predict(x)
    spent = time.perf_counter() - began
    print(spent, *labels, flush=True)
