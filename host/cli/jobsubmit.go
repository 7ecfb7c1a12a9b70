package cli

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
)

// jobFlags describe one job without a file.
type jobFlags struct {
	name, cpu, memory, gpu, runTime, dir, image string
	request, models, env                        []string
	priority                                    int32
	life                                        lifeFlags
}

func (j *jobFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&j.name, "name", "", "name of the job (default that of the program)")
	f.StringVar(&j.cpu, "cpu", "", "cores, such as 500m or 4")
	f.StringVar(&j.memory, "memory", "", "memory, such as 64Mi or 1.5Gi")
	f.StringVar(&j.gpu, "gpu", "", "whole GPUs, or a share of one such as 0.5")
	f.StringArrayVar(&j.request, "request", nil, "NAME=AMOUNT of any other resource; repeatable")
	f.StringSliceVar(&j.models, "model", nil, "allowed models of the device that is asked for")
	f.Int32Var(&j.priority, "priority", 0, "larger is more urgent")
	f.StringVar(&j.runTime, "run-time", "", "the job is ended when it runs longer, such as 10m")
	j.life.addFlags(cmd)
	f.StringArrayVar(&j.env, "env", nil, "NAME=VALUE for the program; repeatable")
	f.StringVar(&j.image, "image", "", "container image; the job runs as a pod in a joined cluster of Kubernetes")
	f.StringVar(&j.dir, "dir", "", "working directory, absolute (default one of the job's own)")
}

// specs gives what the file says, or else the flags and the command.
func (j *jobFlags) specs(cmd *cobra.Command, args []string) ([]client.JobSpec, error) {
	files, command := args, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		files, command = args[:dash], args[dash:]
	}
	given := ""
	for _, name := range append(lifeFlagNames(), "name", "cpu", "memory", "gpu", "request", "model", "priority", "run-time", "env", "dir", "image") {
		if cmd.Flags().Changed(name) {
			given = "--" + name
		}
	}
	switch {
	case len(files) > 1:
		return nil, usagef("%q: expected one file, or -- before a command", files[1])
	case len(files) == 1 && (given != "" || len(command) > 0):
		return nil, usagef("%s beside a file, expected a file or flags and a command", strings.TrimSpace(given+" "+strings.Join(command, " ")))
	case len(files) == 1:
		return specsOf(files[0])
	case given == "" && len(command) == 0:
		return nil, usagef("no job given, expected a file, or flags and -- command")
	case j.name == "" && len(command) == 0:
		return nil, usagef("%s without a command, expected -- and a command behind the flags, or --name for a job of a simulated node", given)
	}
	spec, err := j.spec(command)
	return []client.JobSpec{spec}, err
}

func (j *jobFlags) spec(command []string) (client.JobSpec, error) {
	s := client.JobSpec{
		Name: j.name, Priority: j.priority, Request: map[string]client.Quantity{},
		RunTime: j.runTime, Command: command, Dir: j.dir, Image: j.image,
	}
	if s.Name == "" && len(command) > 0 {
		s.Name = filepath.Base(command[0])
	}
	for name, amount := range map[string]string{"cpu": j.cpu, "memory": j.memory, "gpu": j.gpu} {
		if amount != "" {
			s.Request[name] = client.Quantity(amount)
		}
	}
	for _, pair := range j.request {
		name, amount, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return s, usagef("--request %q: expected NAME=AMOUNT", pair)
		}
		s.Request[name] = client.Quantity(amount)
	}
	if len(j.models) > 0 {
		s.Devices = &client.DeviceSpec{Models: j.models}
	}
	for _, pair := range j.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return s, usagef("--env %q: expected NAME=VALUE", pair)
		}
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[name] = value
	}
	return s, j.life.fill(&s)
}

// specsOf reads the jobs of a file. The tenant that a document names is told
// only where it is not the default, which means nobody in particular.
func specsOf(path string) ([]client.JobSpec, error) {
	jobs, err := manifest.ReadSpecs(path)
	if err != nil {
		return nil, err
	}
	specs := make([]client.JobSpec, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		specs[i] = client.NewJobSpec(&j.Job)
		if specs[i].Tenant == client.DefaultTenant {
			specs[i].Tenant = ""
		}
		specs[i].Command, specs[i].Env, specs[i].Dir, specs[i].Image = j.Task.Command, j.Task.Env, j.Task.Dir, j.Task.Image
		lifeOf(&specs[i], j)
	}
	return specs, nil
}

func newJobSubmit(s Streams, r *remote) *cobra.Command {
	var o output
	var j jobFlags
	var key string
	var wait bool
	cmd := &cobra.Command{
		Use:   "submit FILE | [flags] -- COMMAND [ARG...]",
		Short: "Submit the jobs of a file, or one job of flags and a command",
		Long: "Submit the jobs of a file, all or none, or one job of flags and a command. Once this returns,\n" +
			"the jobs are on the daemon's disk. With --key, a second submission of the same jobs under the\n" +
			"same key gives the same answer and no new job, so it can be tried again.",
		Example: "  poise job submit examples/jobs/two-tenants.yaml\n" +
			"  poise job submit --name train --cpu 4 --memory 16Gi --gpu 1 --run-time 2h -- python train.py",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			specs, err := j.specs(cmd, args)
			if err != nil {
				return err
			}
			if key == "" {
				key = rand.Text()
			}
			return r.call(cmd, func(ctx context.Context, c *client.Client) error {
				jobs, err := c.Submit(ctx, specs, key)
				if err != nil {
					return err
				}
				if err := printJobs(s, o, jobs); err != nil || !wait {
					return err
				}
				names := make([]string, len(jobs))
				for i := range jobs {
					names[i] = jobs[i].ID
				}
				return waitForJobs(ctx, s, c, names)
			})
		},
	}
	o.addFlag(cmd)
	j.addFlags(cmd)
	cmd.Flags().StringVar(&key, "key", "", "idempotency key of the submission (default one that nobody else has)")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the jobs have ended; exit code 1 unless all succeeded")
	return cmd
}
