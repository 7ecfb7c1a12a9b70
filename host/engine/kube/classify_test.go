package kube

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What becomes of a field of a pod.
const (
	used    = "used"    // the job says what it says
	without = "without" // it has no meaning for where the pod goes
	refused = "refused" // Classify names it
	outside = "outside" // whoever reads the pod has looked at it before
	inside  = "inside"  // a table of its own says what becomes of its fields
)

// Every field of what a pod is made of is known. A new version of the API with one
// more fails here, until somebody has looked what kube-scheduler does with it.
func TestEveryFieldIsKnown(t *testing.T) {
	base := func() *v1.Pod {
		always := v1.ContainerRestartPolicyAlways
		term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
		node := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "k", Operator: v1.NodeSelectorOpIn, Values: []string{"v"}}}}
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "red", UID: "u", Labels: map[string]string{"x": "x"}}}
		p.Spec = v1.PodSpec{
			Volumes:                   []v1.Volume{{Name: "v"}},
			InitContainers:            []v1.Container{{Name: "i", RestartPolicy: &always, Ports: []v1.ContainerPort{{HostPort: 7}}}},
			Containers:                []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{HostPort: 5}}}},
			Tolerations:               []v1.Toleration{{Key: "k"}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 7, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: term.LabelSelector}},
			Affinity: &v1.Affinity{
				NodeAffinity: &v1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{node}},
					PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 9, Preference: node}},
				},
				PodAffinity: &v1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{term},
					PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 9, PodAffinityTerm: term}},
				},
				PodAntiAffinity: &v1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{term},
					PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 9, PodAffinityTerm: term}},
				},
			},
		}
		return p
	}
	was, wasRefused := reader().Job(base())
	if wasRefused != nil {
		t.Fatal(wasRefused)
	}
	// f checks one struct of a pod. What is filled in for a field is something, or
	// what the values say.
	f := func(at func(*v1.PodSpec) any, fields map[string]string, values map[string]any) {
		t.Helper()
		kind := reflect.TypeOf(at(&base().Spec)).Elem()
		for name := range fields {
			if _, ok := kind.FieldByName(name); !ok {
				t.Errorf("%s has no field %s", kind, name)
			}
		}
		for i := range kind.NumField() {
			name := kind.Field(i).Name
			what, known := fields[name]
			if !known {
				t.Errorf("%s: the field %s is not known", kind, name)
			}
			pod := base()
			field := reflect.ValueOf(at(&pod.Spec)).Elem().Field(i)
			if v, given := values[name]; given {
				field.Set(reflect.ValueOf(v))
			} else {
				fill(field, 4)
			}
			job, why := reader().Job(pod)
			same := cmp.Equal(was, job) && why == nil
			switch {
			case what == used && same:
				t.Errorf("%s: %s does not show in the job", kind, name)
			case what == without && !same:
				t.Errorf("%s: %s shows in the job: %v %s", kind, name, why, cmp.Diff(was, job))
			case what == refused && len(Classify(pod)) == 0:
				t.Errorf("%s: %s is not refused", kind, name)
			}
		}
	}
	f(func(s *v1.PodSpec) any { return s }, map[string]string{
		"Volumes": inside, "InitContainers": inside, "Containers": inside, "EphemeralContainers": without, "RestartPolicy": without,
		"TerminationGracePeriodSeconds": without, "ActiveDeadlineSeconds": used, "DNSPolicy": without, "NodeSelector": used,
		"ServiceAccountName": without, "DeprecatedServiceAccount": without, "AutomountServiceAccountToken": without, "NodeName": outside,
		"HostNetwork": without, "HostPID": without, "HostIPC": without, "ShareProcessNamespace": without, "SecurityContext": without,
		"ImagePullSecrets": without, "Hostname": without, "Subdomain": without, "Affinity": inside, "SchedulerName": outside,
		"Tolerations": inside, "HostAliases": without, "PriorityClassName": without, "Priority": used, "DNSConfig": without,
		"ReadinessGates": without, "RuntimeClassName": without, "EnableServiceLinks": without, "PreemptionPolicy": used, "Overhead": used,
		"TopologySpreadConstraints": inside, "SetHostnameAsFQDN": without, "OS": without, "HostUsers": without, "SchedulingGates": outside,
		"ResourceClaims": refused, "Resources": used, "HostnameOverride": without, "SchedulingGroup": refused, "EvictionResponders": without,
	}, map[string]any{"PreemptionPolicy": new(v1.PreemptNever), "Resources": &v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": parsed("1")}}, "Overhead": v1.ResourceList{"cpu": parsed("1")}})
	container := map[string]string{
		"Name": without, "Image": without, "Command": without, "Args": without, "WorkingDir": without, "Ports": inside, "EnvFrom": without,
		"Env": without, "Resources": inside, "ResizePolicy": without, "RestartPolicy": without, "RestartPolicyRules": without,
		"VolumeMounts": refused, "VolumeDevices": without, "LivenessProbe": without, "ReadinessProbe": without, "StartupProbe": without,
		"Lifecycle": without, "TerminationMessagePath": without, "TerminationMessagePolicy": without, "ImagePullPolicy": without,
		"SecurityContext": without, "Stdin": without, "StdinOnce": without, "TTY": without,
	}
	f(func(s *v1.PodSpec) any { return &s.Containers[0] }, container, nil)
	container["RestartPolicy"] = used // a container that runs beside the others, or not
	f(func(s *v1.PodSpec) any { return &s.InitContainers[0] }, container, nil)
	f(func(s *v1.PodSpec) any { return &s.Containers[0].Resources }, map[string]string{
		"Limits": without /* the API server has made requests of them */, "Requests": used, "Claims": without, /* with the pod's own */
	}, map[string]any{"Requests": v1.ResourceList{"cpu": parsed("1")}})
	f(func(s *v1.PodSpec) any { return &s.Containers[0].Ports[0] }, map[string]string{
		"Name": without, "HostPort": used, "ContainerPort": without, "Protocol": used, "HostIP": used,
	}, map[string]any{"Protocol": v1.ProtocolUDP})
	f(func(s *v1.PodSpec) any { return &s.Volumes[0] }, map[string]string{"Name": without, "VolumeSource": inside}, nil)
	f(func(s *v1.PodSpec) any { return &s.Volumes[0].VolumeSource }, map[string]string{
		"HostPath": without, "EmptyDir": without, "GCEPersistentDisk": refused, "AWSElasticBlockStore": refused, "GitRepo": without,
		"Secret": without, "NFS": without, "ISCSI": refused, "Glusterfs": without, "PersistentVolumeClaim": refused, "RBD": refused,
		"FlexVolume": without, "Cinder": refused, "CephFS": without, "Flocker": without, "DownwardAPI": without, "FC": without,
		"AzureFile": without, "ConfigMap": without, "VsphereVolume": refused, "Quobyte": without, "AzureDisk": refused,
		"PhotonPersistentDisk": without, "Projected": without, "PortworxVolume": refused, "ScaleIO": without, "StorageOS": without,
		"CSI": without, "Ephemeral": refused, "Image": without,
	}, nil)
	f(func(s *v1.PodSpec) any { return &s.Tolerations[0] }, map[string]string{
		"Key": used, "Operator": used, "Value": used, "Effect": used, "TolerationSeconds": without,
	}, map[string]any{"Operator": v1.TolerationOpExists, "Effect": v1.TaintEffectNoExecute})
	f(func(s *v1.PodSpec) any { return &s.TopologySpreadConstraints[0] }, map[string]string{
		"MaxSkew": used, "TopologyKey": used, "WhenUnsatisfiable": used, "LabelSelector": used, "MinDomains": used,
		"NodeAffinityPolicy": used, "NodeTaintsPolicy": used, "MatchLabelKeys": used,
	}, map[string]any{
		"WhenUnsatisfiable": v1.ScheduleAnyway, "NodeAffinityPolicy": new(v1.NodeInclusionPolicyIgnore), "NodeTaintsPolicy": new(v1.NodeInclusionPolicyHonor),
	})
	f(func(s *v1.PodSpec) any { return s.TopologySpreadConstraints[0].LabelSelector }, map[string]string{"MatchLabels": used, "MatchExpressions": used}, nil)
	f(func(s *v1.PodSpec) any { return s.Affinity }, map[string]string{"NodeAffinity": inside, "PodAffinity": inside, "PodAntiAffinity": inside}, nil)
	both := map[string]string{"RequiredDuringSchedulingIgnoredDuringExecution": used, "PreferredDuringSchedulingIgnoredDuringExecution": used}
	f(func(s *v1.PodSpec) any { return s.Affinity.NodeAffinity }, both, nil)
	f(func(s *v1.PodSpec) any { return s.Affinity.PodAffinity }, both, nil)
	f(func(s *v1.PodSpec) any { return s.Affinity.PodAntiAffinity }, both, nil)
	f(func(s *v1.PodSpec) any {
		return &s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	}, map[string]string{"MatchExpressions": used, "MatchFields": used}, nil)
	f(func(s *v1.PodSpec) any {
		return &s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	}, map[string]string{"Key": used, "Operator": used, "Values": used}, nil)
	f(func(s *v1.PodSpec) any {
		return &s.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0]
	},
		map[string]string{"Weight": used, "Preference": used}, nil)
	f(func(s *v1.PodSpec) any {
		return &s.Affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0]
	},
		map[string]string{"Weight": used, "PodAffinityTerm": used}, nil)
	f(func(s *v1.PodSpec) any {
		return &s.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	}, map[string]string{
		"LabelSelector": used, "Namespaces": used, "TopologyKey": used, "NamespaceSelector": used,
		"MatchLabelKeys": without, "MismatchLabelKeys": without, // the API server has put them into the selector
	}, nil)
}

// fill sets a value to something that is not its zero value, down to a depth.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if depth > 0 && v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth-1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth-1)
		fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(3)
	}
}
