package preprovisioning

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The conditions of the API.
const (
	ConditionReady = "Ready"
	ConditionError = "Error"
)

// The reasons of the API. ImageSuccess is also used for an image that is not ready yet.
const (
	ImageSuccess       = "ImageSuccess"
	ConfigurationError = "ConfigurationError"
	MissingNetworkData = "MissingNetworkData"
	ImageBuildInvalid  = "ImageBuildInvalid"
)

// maxMessage is the maximum length of a condition's message in bytes; the API's limit is in characters.
const maxMessage = 32768

// Offering describes the images of the server.
type Offering struct {
	// Formats are the formats with a base image.
	Formats []Format
	// Architecture is the architecture of the base images.
	Architecture string
}

// Failure is the reason why there is no image.
type Failure struct{ Reason, Message string }

// Choose returns the first acceptable format, or the reason why there is none.
func Choose(spec Spec, offering Offering) (Format, *Failure) {
	if spec.Architecture != "" && spec.Architecture != offering.Architecture {
		return "", &Failure{ConfigurationError, fmt.Sprintf("spec.architecture is %s: the base images are for %s", spec.Architecture, offering.Architecture)}
	}
	for _, f := range spec.AcceptFormats {
		if slices.Contains(offering.Formats, f) {
			return f, nil
		}
	}
	return "", &Failure{ConfigurationError, fmt.Sprintf("spec.acceptFormats is %v: there are base images for %v", spec.AcceptFormats, offering.Formats)}
}

// Outcome is the image for a version of the object and of the Secret.
type Outcome struct {
	// URL is empty exactly if Failure is set.
	URL, KernelURL, ExtraKernelParams string
	Format                            Format
	NetworkData                       NetworkData
	Failure                           *Failure
}

// Next returns the next status for an outcome; it is equal to the object's status if no update is needed. Before an image is replaced, Next first returns a
// status that is not ready, so that no client uses the former URL. The caller must call Next again after the update.
func Next(image *Image, o Outcome, now time.Time) (next Status) {
	old := image.Status
	if meta.IsStatusConditionTrue(old.Conditions, ConditionReady) && o.Failure == nil && o.changes(image) {
		next = old
		next.Conditions = slices.Clone(old.Conditions)
		set(&next, image.Generation, now, ConditionReady, false, ImageSuccess, "Config changed")
		return next
	}
	next = Status{Architecture: image.Spec.Architecture, Format: o.Format, NetworkData: o.NetworkData, Conditions: slices.Clone(old.Conditions)}
	if f := o.Failure; f != nil {
		set(&next, image.Generation, now, ConditionReady, false, f.Reason, "")
		set(&next, image.Generation, now, ConditionError, true, f.Reason, f.Message)
		return next
	}
	next.ImageURL, next.KernelURL, next.ExtraKernelParams = o.URL, o.KernelURL, o.ExtraKernelParams
	set(&next, image.Generation, now, ConditionReady, true, ImageSuccess, "Generated image")
	set(&next, image.Generation, now, ConditionError, false, ImageSuccess, "")
	return next
}

// changes reports whether an outcome differs from the status.
func (o Outcome) changes(image *Image) bool {
	s := image.Status
	return s.ImageURL != o.URL || s.KernelURL != o.KernelURL || s.ExtraKernelParams != o.ExtraKernelParams || s.Format != o.Format ||
		s.NetworkData != o.NetworkData || s.Architecture != image.Spec.Architecture
}

// Same reports whether two statuses are equal.
func Same(a, b Status) bool { return equality.Semantic.DeepEqual(a, b) }

func set(s *Status, generation int64, now time.Time, condition string, value bool, reason, message string) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: shortened(message), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

func shortened(message string) string {
	const more = " ..."
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage - len(more)
	for end > 0 && message[end]&0xc0 == 0x80 { // not within a character
		end--
	}
	return message[:end] + more
}

// The minimum and maximum delay before a missing Secret is read again.
const (
	firstRetry = 10 * time.Second
	lastRetry  = 10 * time.Minute
)

// RetryAfter returns the delay before a missing Secret is read again. It grows with the time that the Secret has been missing.
func RetryAfter(s Status, now time.Time) time.Duration {
	c := meta.FindStatusCondition(s.Conditions, ConditionError)
	if c == nil || c.Status != metav1.ConditionTrue {
		return firstRetry
	}
	return min(max(now.Sub(c.LastTransitionTime.Time), 0)+firstRetry, lastRetry)
}
