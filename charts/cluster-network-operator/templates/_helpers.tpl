{{- /* The reference of an image by its name: by digest if the values have one, else by tag. */ -}}
{{- define "cno.image" -}}
{{- $images := (index . 0).Values.images -}}
{{- $name := index . 1 -}}
{{- with index $images.digests $name -}}
{{ $images.prefix }}/{{ $name }}@{{ . }}
{{- else -}}
{{ $images.prefix }}/{{ $name }}:{{ $images.tag }}
{{- end -}}
{{- end -}}
