package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/registry/oci"
)

// pluginCopyOptions are the flags of plugin copy.
type pluginCopyOptions struct {
	from, to  string
	keys      []string
	plainHTTP bool
	plainSet  bool
	tokenHost []string
	moveTag   bool
	timeout   time.Duration
}

func newPluginCopy(s Streams) *cobra.Command {
	o := pluginCopyOptions{}
	cmd := &cobra.Command{
		Use:   "copy FROM TO [flags]",
		Short: "Copy a plugin between files, OCI layouts and registries",
		Long: "Copy a version of a plugin and its signatures. FROM and TO are each one of\n\n" +
			"  FILE.wasm                         with FILE.wasm.minisig, if it is signed\n" +
			"  oci:DIRECTORY[:TAG]               an OCI layout on disk\n" +
			"  HOST[:PORT]/REPOSITORY[:TAG]      a registry\n\n" +
			"Where it is read, @sha256:HEX may stand for :TAG; where it is written, the tag is the plugin's\n" +
			"version if none is given. The module is verified before anything is written, and has to say\n" +
			"of itself what the artifact says of it. Files that are there are never overwritten, nor do tags\n" +
			"move unless told. Credentials come from the Docker config file and the helpers that it names.",
		Example: "  poise plugin copy bestfit.wasm registry.example.org/policies/bestfit\n" +
			"  poise plugin copy registry.example.org/policies/bestfit:1.0.0 bestfit.wasm --public-key minisign.pub",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s: %d places, expected FROM and TO", cmd.CommandPath(), len(args))
			}
			o.from, o.to = args[0], args[1]
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.plainSet = cmd.Flags().Changed("plain-http")
			ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
			defer cancel()
			return copyPlugin(ctx, s, &o)
		},
	}
	f := cmd.Flags()
	publicKeyFlag(cmd, &o.keys)
	f.BoolVar(&o.plainHTTP, "plain-http", false, "speak to registries without TLS (default: on loopback addresses only)")
	f.StringArrayVar(&o.tokenHost, "token-host", nil, "HOST[:PORT] that a registry's credentials may go to beside the registry; repeatable")
	f.BoolVar(&o.moveTag, "move-tag", false, "let a tag that stands for something else stand for this")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after so long")
	return cmd
}

// copyPlugin does what plugin copy says.
func copyPlugin(ctx context.Context, s Streams, o *pluginCopyOptions) error {
	keys, err := publicKeys(o.keys)
	if err != nil {
		return err
	}
	w, err := openWorkshop(nil)
	if err != nil {
		return err
	}
	defer w.close()
	options := oci.Options{MaxModule: int64(w.limits.Module.Bytes), DockerConfig: true, TokenHosts: o.tokenHost, MoveTag: o.moveTag}
	if o.plainSet {
		options.PlainHTTP = &o.plainHTTP
	}
	p, err := takePlugin(ctx, o.from, options)
	if err != nil {
		return err
	}
	m, err := w.loadBytes(o.from, p.Module)
	if refusalOf(err) != nil {
		return refused(o.from, err)
	}
	if err != nil {
		return err
	}
	if err := agree(&p, m, o.from); err != nil {
		return err
	}
	signed, err := chooseSignature(p, keys)
	if err != nil {
		return fmt.Errorf("%s: %w", o.from, err)
	}
	where := o.to
	if isModuleFile(o.to) {
		err = writePlugin(o.to, p, signed.text)
	} else {
		var d oci.Descriptor
		if d, err = oci.Push(ctx, o.to, p, options); err == nil {
			where = fmt.Sprintf("%s (artifact %s)", d.Reference, d.Digest)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "plugin  %s %s\nmodule  %s\nsigned  %s\nto      %s\n", m.Manifest.Name, m.Manifest.Version, m.Digest, signed.verdict, where)
	return err
}

func isModuleFile(place string) bool {
	return strings.HasSuffix(place, ".wasm") && !strings.HasPrefix(place, oci.LayoutPrefix)
}

// takePlugin reads a plugin from a file or a reference.
func takePlugin(ctx context.Context, from string, o oci.Options) (oci.Plugin, error) {
	if !isModuleFile(from) {
		p, _, err := oci.Pull(ctx, from, o)
		return p, err
	}
	bin, err := readModule(from, o.MaxModule)
	if err != nil {
		return oci.Plugin{}, err
	}
	p := oci.Plugin{Module: bin}
	text, err := readSmall("signature", from+signatureSuffix)
	switch {
	case err == nil:
		p.Signatures = [][]byte{text}
	case poise.KindOf(err) != poise.NotFound:
		return oci.Plugin{}, err
	}
	return p, nil
}

// agree fills in what the artifact of a plugin says of its module, or checks that
// it says what the module does.
func agree(p *oci.Plugin, m *policy.Module, from string) error {
	if p.Manifest == nil {
		p.Manifest, p.ABI = []byte(m.ManifestText()), version(m.Minor)
		return nil
	}
	if string(p.Manifest) != m.ManifestText() {
		return &poise.Error{Kind: poise.Denied, Op: from, Detail: fmt.Sprintf("manifest of the artifact: is not the one that the module gives, which is of %s %s", m.Manifest.Name, m.Manifest.Version)}
	}
	if p.ABI != "" && p.ABI != version(m.Minor) {
		return &poise.Error{Kind: poise.Denied, Op: from, Detail: fmt.Sprintf("contract version of the artifact: %.20q, the module's is %s", p.ABI, version(m.Minor))}
	}
	return nil
}

// writePlugin writes a module and its signature to files that are not there.
func writePlugin(path string, p oci.Plugin, signature []byte) error {
	if signature == nil && len(p.Signatures) > 0 {
		return &poise.Error{Kind: poise.Invalid, Op: "write " + path, Detail: fmt.Sprintf("signatures: %d, expected one to lie beside a file; name its key with --public-key", len(p.Signatures))}
	}
	for _, name := range []string{path, path + signatureSuffix} {
		_, err := os.Lstat(name)
		if err == nil {
			return &poise.Error{Kind: poise.Conflict, Op: "write " + path, Detail: name + ": is there, expected none"}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	if signature != nil {
		if err := writeFile(path+signatureSuffix, writeAll(signature)); err != nil {
			return err
		}
	}
	return writeFile(path, writeAll(p.Module))
}

// writeAll writes bytes into a file.
func writeAll(b []byte) func(*sheet) error {
	return func(f *sheet) error {
		_, err := f.Write(b)
		return err
	}
}
