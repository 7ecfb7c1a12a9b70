package workload

import "strconv"

// Records gives the workload as records of the Standard Workload Format, with
// its header. A gang is one record with the processors of all, and the header then
// has nodes as wide as the widest job. What that format cannot say is left out:
// devices, and of jobs with them it says how many there were.
func (w *Workload) Records() (h Header, records []Record, devices int) {
	number := make(map[string]int64, len(w.Jobs))
	width := int64(0)
	for i := range w.Jobs {
		j := &w.Jobs[i]
		members := int64(1)
		if j.Gang != nil {
			members = int64(j.Gang.Size)
			h.MaxNodes = max(h.MaxNodes, members)
		}
		if j.Request.Device.Count > 0 {
			devices++
		}
		if j.Gang != nil && j.Gang.Index > 0 {
			continue
		}
		number[j.Name] = int64(len(records) + 1)
		cpu, _ := j.Request.Amounts.Find("cpu")
		memory, _ := j.Request.Amounts.Find("memory")
		r := unknown()
		r.Number, r.Submit, r.Run = number[j.Name], int64(j.At)/1000, int64(j.Took)/1000
		width = max(width, cpu/1000)
		r.Processors = cpu / 1000 * members
		r.AskedProcs = r.Processors
		if j.RunTime > 0 {
			r.AskedTime = int64(j.RunTime) / 1000
		}
		if memory > 0 {
			r.AskedMem = memory / 1024 / (cpu / 1000)
		}
		r.Status = 1
		r.User, _ = strconv.ParseInt(string(j.Tenant)[len(tenantPrefix):], 10, 64)
		if p, ok := number[j.Preceding]; ok {
			r.Preceding, r.ThinkTime = p, 0
		}
		records = append(records, r)
	}
	h.MaxProcs = h.MaxNodes * width
	return h, records, devices
}
