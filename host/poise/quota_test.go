package poise

import "testing"

func TestQuotaValidate(t *testing.T) {
	f := func(want string, q Quota) {
		t.Helper()
		refuses(t, q.Validate("tenant"), want)
	}
	for _, name := range []string{"cpu", "gpu", "gpu/H100", "nvidia.com/gpu", "nvidia.com/gpu/H100", "cpu@cpu-highmem", "nvidia.com/gpu@gpu-g2-8x"} {
		f("", Quota{Resource: name, Guaranteed: 2, Limit: 2, Reserved: 1})
	}
	for _, name := range []string{"@", "@big", "cpu@", "cpu@big@small"} {
		f(`tenant: quota: resource: "`+name+`", expected a dimension, a device kind, KIND/MODEL or NAME@CLASS`, Quota{Resource: name})
	}
	f("tenant: quota: resource: empty, expected a name", Quota{})
	f("tenant: quota: gpu/H100: reserved: 3, expected 0 to 2", Quota{Resource: "gpu/H100", Guaranteed: 2, Reserved: 3})
	f("tenant: quota: gpu/H100: limit: 1, expected 2 to 9223372036854775807", Quota{Resource: "gpu/H100", Guaranteed: 2, Limit: 1})
}
