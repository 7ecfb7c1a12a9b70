package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/registry/minisign"
)

// pluginVerifyOptions are the flags of plugin verify.
type pluginVerifyOptions struct {
	file      string
	keys      []string
	signature string
}

func newPluginVerify(s Streams) *cobra.Command {
	o := pluginVerifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify FILE --public-key KEY [flags]",
		Short: "Check the signature of a plugin",
		Long: "Check that one of the keys signed this module and the trusted comment. Signatures are those of\n" +
			"minisign, in its present and its older format. Exit code 4 if it does not hold.",
		Example: "  poise plugin verify bestfit.wasm --public-key minisign.pub",
		Args:    oneFile(&o.file),
		RunE:    func(*cobra.Command, []string) error { return verifyPlugin(s, &o) },
	}
	f := cmd.Flags()
	publicKeyFlag(cmd, &o.keys)
	f.StringVar(&o.signature, "signature", "", "file with the signature (default: FILE"+signatureSuffix+")")
	return cmd
}

// verifyPlugin does what plugin verify says.
func verifyPlugin(s Streams, o *pluginVerifyOptions) error {
	if len(o.keys) == 0 {
		return usagef("--public-key: not given, expected the file of a public key, as minisign -G writes it")
	}
	keys, err := publicKeys(o.keys)
	if err != nil {
		return err
	}
	bin, err := readModule(o.file, int64(policy.Defaults().Module.Bytes))
	if err != nil {
		return err
	}
	text, err := readSmall("signature", signaturePath(o.file, o.signature))
	if err != nil {
		return err
	}
	made, err := minisign.Verify(bin, text, keys...)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	_, err = fmt.Fprintf(s.Out, "%s: signed by key %s, %q\n", o.file, made.KeyID, made.Comment)
	return err
}
