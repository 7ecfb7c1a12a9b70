package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/config"
)

// configOptions are the flags of config check and config show.
type configOptions struct {
	source config.Options
	output string
}

func newConfig(s Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "The daemon's settings: are they right, what are they, where do they come from",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		configCommand(s, checkConfig, &cobra.Command{
			Use:   "check [--file FILE] [flags]",
			Short: "Read the settings as the daemon would and name everything that is wrong",
			Long: "Read the settings as the daemon would: defaults, below the file, below the environment\n" +
				"(POISE_LOG_LEVEL for log.level), below the flags. Name everything that is wrong, each with\n" +
				"the place where it was set. Exit code 1 if anything is.",
			Example: "  poise config check --file /etc/poise/poise.yaml",
		}),
		configCommand(s, showConfig, &cobra.Command{
			Use:   "show [--file FILE] [flags]",
			Short: "Print every setting that the daemon would run with, and where it was set",
			Long: "Print every setting that the daemon would run with, the place where it was set, and whether\n" +
				"a change takes effect at once or after a restart. With -o yaml, print a file that sets all.",
			Example: "  POISE_LOG_LEVEL=debug poise config show --file /etc/poise/poise.yaml",
		}),
	)
	return cmd
}

func configCommand(s Streams, run func(Streams, *configOptions) error, cmd *cobra.Command) *cobra.Command {
	o := &configOptions{}
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.source.Env, o.source.Flags = os.Environ(), cmd.Flags()
		return run(s, o)
	}
	f := cmd.Flags()
	f.StringVar(&o.source.File, "file", "", "the daemon's YAML file; none: defaults, environment and flags alone")
	f.StringVarP(&o.output, "output", "o", "table", "table, json or yaml")
	config.AddFlags(f)
	return cmd
}

// checked is what config check prints in JSON and YAML.
type checked struct {
	OK       bool      `json:"ok" yaml:"ok"`
	Problems []problem `json:"problems" yaml:"problems"`
}

type problem struct {
	Key      string `json:"key" yaml:"key"`
	Value    string `json:"value" yaml:"value"`
	Expected string `json:"expected" yaml:"expected"`
	Source   string `json:"source" yaml:"source"`
	Origin   string `json:"origin" yaml:"origin"`
}

// checkConfig does what config check says.
func checkConfig(s Streams, o *configOptions) error {
	if err := oneOf("output", o.output, "table", "json", "yaml"); err != nil {
		return err
	}
	loaded, err := config.Load(o.source)
	var found config.Problems
	if err != nil && !errors.As(err, &found) {
		return err
	}
	if o.output != "table" {
		c := checked{OK: err == nil, Problems: make([]problem, len(found))}
		for i, p := range found {
			c.Problems[i] = problem{p.Key, p.Value, p.Expected, p.Origin.Source.String(), p.Origin.String()}
		}
		if printed := document(s.Out, o.output, c); printed != nil {
			return printed
		}
	}
	if err != nil {
		return err
	}
	if o.output == "table" {
		set := 0
		for _, v := range loaded.Values() {
			if v.Origin.Source != config.Default {
				set++
			}
		}
		fmt.Fprintf(s.Out, "right: %d set, the rest at their defaults\n", set)
	}
	return nil
}

// shown is a setting as config show prints it in JSON.
type shown struct {
	Key      string `json:"key"`
	Value    any    `json:"value"`
	Source   string `json:"source"`
	Origin   string `json:"origin"`
	Variable string `json:"variable"`
	Flag     string `json:"flag"`
	Restart  bool   `json:"restart"`
	About    string `json:"about"`
}

// showConfig does what config show says.
func showConfig(s Streams, o *configOptions) error {
	if err := oneOf("output", o.output, "table", "json", "yaml"); err != nil {
		return err
	}
	loaded, err := config.Load(o.source)
	if err != nil {
		return err
	}
	values := loaded.Values()
	switch o.output {
	case "json":
		all := make([]shown, len(values))
		for i, v := range values {
			all[i] = shown{v.Key, v.Value, v.Origin.Source.String(), v.Origin.String(), v.Variable, "--" + v.Flag, !v.Running, v.About}
		}
		return document(s.Out, o.output, all)
	case "yaml":
		return settingsFile(s.Out, values)
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tSET BY\tA CHANGE COUNTS")
	for _, v := range values {
		text, counts := v.Text, "after a restart"
		if text == "" {
			text = "-"
		}
		if v.Running {
			counts = "at once"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.Key, text, v.Origin, counts)
	}
	return w.Flush()
}

// settingsFile prints a file that sets everything as it is, each setting with the
// place where it was set.
func settingsFile(w io.Writer, values []config.Value) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	sections := map[string]*yaml.Node{"": root}
	var within func(path string) *yaml.Node
	within = func(path string) *yaml.Node {
		if sections[path] == nil {
			parent, name := "", path
			if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
				parent, name = path[:dot], path[dot+1:]
			}
			sections[path] = &yaml.Node{Kind: yaml.MappingNode}
			above := within(parent)
			above.Content = append(above.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, sections[path])
		}
		return sections[path]
	}
	for _, v := range values {
		section, name := "", v.Key
		if dot := strings.LastIndexByte(v.Key, '.'); dot >= 0 {
			section, name = v.Key[:dot], v.Key[dot+1:]
		}
		value := &yaml.Node{}
		if err := value.Encode(v.Value); err != nil {
			return err
		}
		if value.Kind != yaml.ScalarNode {
			value.Style = yaml.FlowStyle
		}
		if v.Origin.Source != config.Default {
			value.LineComment = "# " + v.Origin.String()
		}
		in := within(section)
		in.Content = append(in.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
	}
	return document(w, "yaml", root)
}

// document prints v as JSON or YAML.
func document(w io.Writer, format string, v any) error {
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return err
	}
	return e.Close()
}
