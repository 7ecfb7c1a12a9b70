// Package spectral finds groups of similar points by normalised spectral
// clustering. It is pure mathematics: it imports gonum and the standard library
// only, and knows nothing of nodes or resources.
//
// The chain, with one exported function for each link, for n points x_i in d
// dimensions (d counted in octaves) with weights w_i > 0:
//
//	Connected   components of the similarity graph, found first
//	Affinity    W_ij = w_i w_j exp(-|x_i - x_j|^2 / 2 sigma^2)       m x m
//	Degree      D_ii = sum_j W_ij                                    m
//	Laplacian   L = I - D^(-1/2) W D^(-1/2)                          m x m
//	Eigen       L u = lambda u, ascending                            m, m x m
//	Eigengap    one k from the spectra of all components, merged
//	Embed       the first k_c columns of U with rows of length 1     m x k_c
//	KMeans      weighted k-means++ on those rows                     m labels
//
// m is the number of points of one component. Cluster runs the chain and keeps
// every matrix of it, so that a reader can look at each.
//
// Sources: J. Shi and J. Malik, Normalized Cuts and Image Segmentation, IEEE
// PAMI 22 (2000): the normalised cut and its relaxation to L. A. Y. Ng, M. I.
// Jordan and Y. Weiss, On Spectral Clustering: Analysis and an Algorithm, NIPS
// 14 (2002): rows of length 1 and k-means on them. U. von Luxburg, A Tutorial on
// Spectral Clustering, Statistics and Computing 17 (2007): components and the
// zero eigenvalues (section 3), the eigengap (section 8.3), perturbation
// (section 7).
//
// Invariants: the same points give the same partition in every order of the
// points and for every number of processors, as the points are worked on in an
// order of their own. Comparisons that rounding could turn (equal distances,
// equal eigenvalues) have a tolerance and fall back on the index, so that builds
// whose last bits differ agree on labels as well; eigenvalues are reproducible
// to the bit within one build only.
package spectral
