package store

// latest gives the batches of one transaction without the rows that others of it
// replace: a job that arrives, is placed and begins in one is written once.
func latest(group []*Pending) []Batch {
	batches := make([]Batch, len(group))
	for i, p := range group {
		batches[i] = p.batch
	}
	distinct(batches, func(b *Batch) *[]JobRow { return &b.Jobs }, func(j *JobRow) string { return j.ID })
	distinct(batches, func(b *Batch) *[]PlacementRow { return &b.Placements }, func(p *PlacementRow) string { return p.ID })
	return batches
}

// distinct leaves of all rows of one kind the last of each identity, where it is.
func distinct[T any](batches []Batch, rows func(*Batch) *[]T, id func(*T) string) {
	last := map[string]*T{}
	all := 0
	for i := range batches {
		list := *rows(&batches[i])
		for r := range list {
			last[id(&list[r])] = &list[r]
		}
		all += len(list)
	}
	if len(last) == all {
		return
	}
	for i := range batches {
		list := rows(&batches[i])
		var left []T // the caller has the other list
		for r := range *list {
			if row := &(*list)[r]; last[id(row)] == row {
				left = append(left, *row)
			}
		}
		*list = left
	}
}
