// Command goguest is the scoring kernel in stock Go, for the benchmark of the
// meter. It exports score, and imports what every Go program does. It is built
// with GOOS=wasip1 GOARCH=wasm and -buildmode=c-shared.
package main

var columns [9][1 << 12]float64

//go:wasmexport score
func score(n int32) int32 {
	n &= 1<<12 - 1
	kept := int32(0)
	for i := range int(n) {
		var used [4]float64
		fits := true
		for d := range 4 {
			capacity := columns[d][i] + 64 + float64(i&7)
			idle := capacity - columns[4+d][i]
			fits = fits && idle >= float64(i&3)
			used[d] = 1 - idle/capacity
		}
		if !fits {
			columns[8][i] = 1e9
			continue
		}
		loss := 0.0
		for _, u := range used {
			loss += u * u
		}
		columns[8][i] = loss
		kept++
	}
	return kept
}

func main() {}
