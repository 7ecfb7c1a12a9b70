package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ourNames maps the published policy names to the baselines.
var ourNames = map[string]string{
	"Random": "random", "DotProd": "dot-product", "GpuClustering": "gpu-clustering",
	"GpuPacking": "gpu-packing", "BestFit": "best-fit", "FGD": "fgd",
}

// key is one workload under one policy.
type key struct{ workload, policy string }

// point is an allocation at 100 % and at 130 % of arrived demand.
type point struct{ at100, at130 float64 }

// readFinal gives the published final allocation by seed.
func readFinal(folder string) (map[key]map[int64]float64, error) {
	final := map[key]map[int64]float64{}
	err := eachRow(filepath.Join(folder, "published_final_allocation.csv"), func(k key, column string, v float64) {
		seed, isSeed := strings.CutPrefix(column, "seed")
		if !isSeed {
			return
		}
		n, err := strconv.ParseInt(seed, 10, 64)
		if err != nil {
			return
		}
		if final[k] == nil {
			final[k] = map[int64]float64{}
		}
		final[k][n] = v
	})
	return final, err
}

// readCurve gives the published means over ten seeds.
func readCurve(folder string) (map[key]point, error) {
	curve := map[key]point{}
	err := eachRow(filepath.Join(folder, "published_allocation_curve.csv"), func(k key, column string, v float64) {
		p := curve[k]
		switch column {
		case "arrived100":
			p.at100 = v
		case "arrived130":
			p.at130 = v
		}
		curve[k] = p
	})
	return curve, err
}

func eachRow(path string, value func(k key, column string, v float64)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for _, row := range rows[1:] {
		k := key{row[0], ourNames[row[1]]}
		for i, text := range row[2:] {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("read %s: %q: %w", path, text, err)
			}
			value(k, rows[0][i+2], v)
		}
	}
	return nil
}
