//go:build wasip1

package provider

// Converts the types that tools and prompts share.

import (
	"errors"
	"fmt"

	interaction "larder.dev/provider/internal/bindings/larder_provider_interaction_types"
	wit "larder.dev/provider/internal/wit/types"
)

func contractBlock(block Block) interaction.Block {
	annotations := wit.None[interaction.Annotations]()
	if given := block.Annotations; given != nil {
		annotations = wit.Some(interaction.Annotations{
			Audience:     roles(given.Audience),
			Priority:     optionFrom(given.Priority),
			LastModified: option(given.LastModified),
		})
	}
	return interaction.Block{
		Value:       contractBlockValue(block.Value),
		Annotations: annotations,
		Metadata:    tuples(block.Metadata),
	}
}

func contractBlockValue(value BlockValue) interaction.BlockValue {
	switch value := value.(type) {
	case BlockText:
		return interaction.MakeBlockValueText(valid(string(value)))
	case Image:
		return interaction.MakeBlockValueImage(interaction.Media{MimeType: valid(value.MimeType), Data: value.Data})
	case Audio:
		return interaction.MakeBlockValueAudio(interaction.Media{MimeType: valid(value.MimeType), Data: value.Data})
	case Link:
		return interaction.MakeBlockValueLink(contractEntry(value.Entry))
	case Embedded:
		return interaction.MakeBlockValueEmbedded(interaction.EmbeddedResource{
			Uri:      value.URI,
			MimeType: option(value.MimeType),
			Body:     contractBody(value.Content),
			Metadata: tuples(value.Metadata),
		})
	default:
		panic(fmt.Sprintf("%T is not the value of a block", value))
	}
}

func inputFrom(given wit.Option[interaction.ProvidedInput]) *Input {
	if given.IsNone() {
		return nil
	}
	input := given.Some()
	response := func(response interaction.InputResponse) InputResponse {
		if response.Outcome.IsOk() {
			return InputResponse{Key: response.Key, Result: response.Outcome.Ok()}
		}
		return InputResponse{Key: response.Key, Error: response.Outcome.Err()}
	}
	return &Input{Responses: mapSlice(input.Responses, response), State: input.State.SomeOr(nil)}
}

// requested converts the error of [Ask]. It returns other errors unchanged.
func requested(err error) (interaction.InputRequired, error) {
	var asked *inputRequired
	if !errors.As(err, &asked) {
		return interaction.InputRequired{}, err
	}
	if err := asked.check(); err != nil {
		return interaction.InputRequired{}, err
	}
	required := interaction.InputRequired{State: wit.None[[]uint8]()}
	if asked.state != nil {
		required.State = wit.Some(asked.state)
	}
	for at, request := range asked.requests {
		params, err := jsonObject("Params", request.Params)
		if err != nil {
			return required, within(fmt.Sprintf("Ask: request %d: ", at), err)
		}
		required.Requests = append(required.Requests, interaction.InputRequest{
			Key: request.Key, Method: request.Method, Params: valid(params),
		})
	}
	return required, nil
}
