package poise

// Profile is the expected demand for devices at one epoch, with how scarce the
// room for each part of it is. It is built by host/balance and immutable
// afterwards. Formulas and symbols: idle-balance loss, form (D).
type Profile struct {
	Epoch    uint64 // 1, 2, … ; 0 only in the empty profile
	Arrivals uint64 // arrivals counted when it was built
	// Kind is the device kind that the profile speaks of.
	Kind string
	// LargestDevices is C_max: devices of the largest registered node.
	LargestDevices float64
	// IdleDevices is S_tot: idle devices of all nodes at the epoch.
	IdleDevices float64
	Shapes      []ProfileShape // falling weight, the prior shapes last
}

// ProfileShape is one kind of job that the profile expects.
type ProfileShape struct {
	CPU    int64    // milli-cores
	Memory int64    // MiB
	Count  int32    // devices
	Milli  int32    // milli-devices on each
	Models []string // allowed models, sorted; empty = any

	Seen     float64 // arrivals counted, decayed where that is set; 0 for a prior shape
	Weight   float64 // Seen * (1 + a); for a prior shape eps*W/Z
	Share    float64 // p_m
	Room     float64 // S_m: devices of room left for it at the epoch
	Scarcity float64 // h_m
	Prior    bool
}

// Ask is a_m: devices asked for in all, as a fraction of one device.
func (s *ProfileShape) Ask() float64 {
	return float64(int64(s.Count)*int64(s.Milli)) / WholeDevice
}
