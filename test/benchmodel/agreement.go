package main

// agreement is the adjusted Rand index of two partitions of the same things: 1
// where they are the same, about 0 where they have nothing to do with each
// other.
func agreement(a, b []int) float64 {
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	both, of, in := map[[2]int]int{}, map[int]int{}, map[int]int{}
	for i := range a {
		both[[2]int{a[i], b[i]}]++
		of[a[i]]++
		in[b[i]]++
	}
	sum := func(counts map[int]int) (total float64) {
		for _, n := range counts {
			total += pairs(n)
		}
		return total
	}
	together := 0.0
	for _, n := range both {
		together += pairs(n)
	}
	p, q := sum(of), sum(in)
	chance := p * q / pairs(len(a))
	if (p+q)/2 == chance {
		return 1
	}
	return (together - chance) / ((p+q)/2 - chance)
}
