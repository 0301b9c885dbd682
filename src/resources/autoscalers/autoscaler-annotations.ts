import { jsonText } from '../../api/codec/json-text.ts'
import { parseChecked } from '../../api/codec/json.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import type { Json, JsonObject } from '../../api/json.ts'
import { isJsonList, isJsonObject, objectMember, objectsMember } from '../../api/json.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import type { Names } from '../../api/metadata/names.ts'
import { listOf, maybe, struct } from '../../api/schema/build.ts'
import { conformAt } from '../../api/schema/conform.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { autoscalerConditionSchema, behaviorSchema } from './autoscaler-schema.ts'
import { legacyMetricSpecSchema, legacyMetricStatusSchema } from './legacy-metric-schema.ts'
import { legacySpecOf, legacyStatusOf, metricOfLegacySpec, metricOfLegacyStatus } from './legacy-metrics.ts'

/** Members that the first version of an autoscaler has in annotations, in the form of version 2. */
export type AnnotatedMembers = {
  readonly metrics: readonly JsonObject[]
  readonly behavior: JsonObject | null
  readonly currentMetrics: readonly JsonObject[]
  readonly conditions: readonly JsonObject[]
}

type AnnotationName = 'metrics' | 'behavior' | 'current-metrics' | 'conditions'
const annotationNames: readonly AnnotationName[] = ['metrics', 'behavior', 'current-metrics', 'conditions']

/** @source upstream `pkg/apis/autoscaling/annotations.go` */
function keyOf(name: AnnotationName, names: Names): string {
  return names.labelUnder('autoscaling.alpha', name)
}

/** Removes the annotations. @returns the identical object if there is nothing to remove */
export function withoutAutoscalerAnnotations(object: AnyObject, names: Names): AnyObject {
  const given = object.metadata.annotations ?? {}
  const keys = annotationNames.map((name) => keyOf(name, names))
  if (!keys.some((key) => Object.hasOwn(given, key))) return object
  const left = Object.entries(given).filter(([key]) => !keys.includes(key))
  const metadata: { annotations?: ObjectMeta['annotations'] } & ObjectMeta = { ...object.metadata }
  if (left.length === 0) delete metadata.annotations
  else metadata.annotations = Object.fromEntries(left)
  return { ...object, metadata }
}

/** Reads the annotations. Those that are malformed count as absent, as upstream. */
export function readAutoscalerAnnotations(object: AnyObject, names: Names): AnnotatedMembers {
  const given = object.metadata.annotations ?? {}
  const read = (name: AnnotationName, schema: ObjectSchema): JsonObject => {
    const text = given[keyOf(name, names)]
    return text === undefined ? {} : parsedAnnotation(text, schema)
  }
  const behavior = objectMember(read('behavior', behaviorValue), 'value')
  return {
    metrics: objectsMember(read('metrics', specsValue), 'value').map(metricOfLegacySpec),
    behavior: Object.keys(behavior).length === 0 ? null : behavior,
    currentMetrics: objectsMember(read('current-metrics', statusesValue), 'value').map(metricOfLegacyStatus),
    conditions: objectsMember(read('conditions', conditionsValue), 'value'),
  }
}

/** Adds annotations for the members that are not empty to an object without these annotations. */
export function withAutoscalerAnnotations(
  object: AnyObject,
  { metrics, behavior, currentMetrics, conditions }: AnnotatedMembers,
  names: Names,
): AnyObject {
  const added: { [key: string]: string } = {}
  const add = (name: AnnotationName, value: Json): void => {
    added[keyOf(name, names)] = jsonText(value)
  }
  if (metrics.length > 0) add('metrics', metrics.map(legacySpecOf))
  if (behavior !== null) add('behavior', withCapitals(behavior))
  if (currentMetrics.length > 0) add('current-metrics', currentMetrics.map(legacyStatusOf))
  if (conditions.length > 0) add('conditions', conditions)
  if (Object.keys(added).length === 0) return object
  const { metadata } = object
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...added } } }
}

const words = 'Contents of an annotation.'
const specsValue = struct('', words, { value: listOf(1, legacyMetricSpecSchema, words) })
const statusesValue = struct('', words, { value: listOf(1, legacyMetricStatusSchema, words) })
const conditionsValue = struct('', words, { value: listOf(1, autoscalerConditionSchema, words) })
const behaviorValue = struct('', words, { value: maybe(1, behaviorSchema, words) })

function parsedAnnotation(text: string, schema: ObjectSchema): JsonObject {
  try {
    const parsed = parseChecked(text)
    const value = schema === behaviorValue ? withSmallLetters(parsed) : parsed
    const conformed = conformAt(schema, { value }, null)
    return conformed.kind === 'ok' ? conformed.value : {}
  } catch (cause) {
    // Malformed or nested too deep.
    if (cause instanceof SyntaxError || cause instanceof ApiError) return {}
    throw cause
  }
}

/** Upstream writes the names of this annotation in the spelling of its internal type. */
function withCapitals(value: Json): Json {
  return renamed(value, (name) => name.charAt(0).toUpperCase() + name.slice(1))
}

function withSmallLetters(value: Json): Json {
  return renamed(value, (name) => name.charAt(0).toLowerCase() + name.slice(1))
}

function renamed(value: Json, rename: (name: string) => string): Json {
  if (isJsonList(value)) return value.map((item) => renamed(item, rename))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [rename(name), renamed(inner, rename)]),
  )
}
