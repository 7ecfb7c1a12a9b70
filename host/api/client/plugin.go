package client

import "time"

// PluginPush is a module that is to become a version of a plugin. Name and
// version are in its manifest.
type PluginPush struct {
	Module    []byte            `json:"module" doc:"The .wasm file, in base64"`
	Tag       string            `json:"tag,omitempty" doc:"A name for this version, taken from the one that has it"`
	Signature string            `json:"signature,omitempty" doc:"The text of its .minisig file"`
	Params    map[string]string `json:"params,omitempty" doc:"To try it with; made up where one has no default and is not given"`
}

// PluginVersion is a version of a plugin: one module for good.
type PluginVersion struct {
	Plugin      string        `json:"plugin"`
	Version     string        `json:"version"`
	Digest      string        `json:"digest" doc:"sha256:hex of the module"`
	Tenant      string        `json:"tenant,omitempty" doc:"Whose it is; nothing where it is for all tenants"`
	Tags        []string      `json:"tags,omitempty"`
	Description string        `json:"description,omitempty"`
	Exports     []string      `json:"exports" doc:"filter, score or both"`
	Size        int           `json:"size_bytes"`
	Pushed      time.Time     `json:"pushed"`
	By          string        `json:"by" doc:"Who pushed it"`
	Key         string        `json:"key,omitempty" doc:"Id of the key that signed it"`
	Active      bool          `json:"active" doc:"It is in force"`
	Before      bool          `json:"before" doc:"It was in force, and can be rolled back to"`
	Quarantined bool          `json:"quarantined,omitempty" doc:"It is in force and not asked, after faults in a row"`
	Use         *PluginCost   `json:"use,omitempty" doc:"Of the version in force, since the daemon began or the policy changed"`
	Checks      []PluginCheck `json:"checks,omitempty" doc:"What was found at its push"`
	Warnings    []string      `json:"warnings,omitempty" doc:"What is allowed and unwise"`
}

// PluginCost is what a plugin has done.
type PluginCost struct {
	Calls  int64            `json:"calls"`
	Rows   int64            `json:"rows" doc:"Nodes that it was asked about"`
	Fuel   int64            `json:"fuel" doc:"In weighted units"`
	Faults map[string]int64 `json:"faults,omitempty" doc:"By code"`
}

// PluginCheck is one thing that a push has to pass.
type PluginCheck struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome" enum:"pass,warn,skip,fail"`
	Detail  string `json:"detail"`
}

// PluginModule is a version with its bytes.
type PluginModule struct {
	Version   PluginVersion `json:"version"`
	Module    []byte        `json:"module" doc:"The .wasm file, in base64"`
	Signature string        `json:"signature,omitempty" doc:"The text of its .minisig file"`
}

// PluginsCollected is what was removed because nothing needs it any more.
type PluginsCollected struct {
	Modules int   `json:"modules"`
	Bytes   int64 `json:"bytes"`
}
