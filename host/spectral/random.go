package spectral

// random is splitmix64 (G. L. Steele, D. Lea and C. H. Flood, Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014): the same numbers from the same
// seed on every machine and with every version of Go.
type random uint64

// unit returns the next number, at least 0 and below 1.
func (r *random) unit() float64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}
