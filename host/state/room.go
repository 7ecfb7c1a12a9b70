package state

// HasRoom says whether as much is idle on the row as a shape asks for, devices that
// are large enough included. Whether it may go there is another question.
func (s *Snapshot) HasRoom(row uint32, shape *Shape) bool {
	for _, a := range shape.Request.Amounts {
		if a.Value > 0 && s.idleOf(row, a.Name) < a.Value {
			return false
		}
	}
	ask := &shape.Request.Device
	if ask.Count == 0 {
		return true
	}
	enough := int32(0)
	for _, free := range s.Free(row) {
		if int32(free) >= ask.Milli {
			enough++
		}
	}
	return enough >= ask.Count
}

// idleOf is what is idle of a dimension by name, 0 of one that no node declares.
func (s *Snapshot) idleOf(row uint32, name string) int64 {
	for d, dim := range s.dims {
		if dim == name {
			return s.Idle(row, d)
		}
	}
	return 0
}
