// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// DecodeInto reads the raw arguments that a factory was given into a struct of the plugin's own. Without arguments
// it leaves the struct as it is, so defaults may be set before. Fields that the struct does not have, names in another
// case among them, are ignored; a plugin that wants to refuse them decodes the Raw bytes of the *apiruntime.Unknown
// itself.
func DecodeInto(args apiruntime.Object, into any) error {
	if args == nil {
		return nil
	}
	raw, ok := args.(*apiruntime.Unknown)
	if !ok {
		return fmt.Errorf("want args of type runtime.Unknown, got %T", args)
	}
	if len(raw.Raw) == 0 {
		return nil
	}
	var err error
	switch raw.ContentType {
	case apiruntime.ContentTypeJSON, "":
		err = json.Unmarshal(raw.Raw, into)
	case apiruntime.ContentTypeYAML:
		err = yaml.Unmarshal(raw.Raw, into)
	default:
		return fmt.Errorf("not supported content type %s", raw.ContentType)
	}
	if err != nil {
		return fmt.Errorf("decoding plugin arguments into %T: %w", into, err)
	}
	return nil
}
