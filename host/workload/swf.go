package workload

import "strconv"

// Records gives the workload as records of the Standard Workload Format, with
// its header. What that format cannot say is left out: devices, and of jobs with
// them it says how many there were.
func (w *Workload) Records() (h Header, records []Record, devices int) {
	number := make(map[string]int64, len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		number[j.Name] = int64(i + 1)
		cpu, _ := j.Request.Amounts.Find("cpu")
		memory, _ := j.Request.Amounts.Find("memory")
		r := unknown()
		r.Number, r.Submit, r.Run = int64(i+1), int64(j.At)/1000, int64(j.Took)/1000
		r.Processors = cpu / 1000
		r.AskedProcs = r.Processors
		if j.RunTime > 0 {
			r.AskedTime = int64(j.RunTime) / 1000
		}
		if memory > 0 {
			r.AskedMem = memory / 1024 / r.Processors
		}
		r.Status = 1
		r.User, _ = strconv.ParseInt(string(j.Tenant)[len(tenantPrefix):], 10, 64)
		if p, ok := number[j.Preceding]; ok {
			r.Preceding, r.ThinkTime = p, 0
		}
		if j.Request.Device.Count > 0 {
			devices++
		}
		records = append(records, r)
	}
	return h, records, devices
}
