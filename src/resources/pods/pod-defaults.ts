import type { Json, JsonObject, JsonObjectDraft } from '../../api/json.ts'
import { isJsonList, isJsonObject, memberOf, numberMember, objectMember, textMember } from '../../api/json.ts'
import { requestsFromLimits, roundedResources } from '../containers/container-resources.ts'
import { withVolumeSource } from '../volumes/volume.ts'

/**
 * Applies the defaults of a Pod's spec that depend on other members, for Pods and templates, after
 * those of the schema.
 *
 * @returns the identical spec if nothing was missing
 * @source core `pkg/apis/core/v1/defaults.go`, SetDefaults_PodSpec and what it calls
 */
export function fillPodSpec(spec: JsonObject): JsonObject {
  const isOnHost = memberOf(spec, 'hostNetwork') === true
  const filled = (container: JsonObject): JsonObject => fillContainer(container, isOnHost)
  let next = withEach(spec, 'volumes', withVolumeSource)
  for (const list of ['containers', 'initContainers']) next = withEach(next, list, filled)
  next = withEach(next, 'ephemeralContainers', (container) => fillContainer(container, false))
  return withAccount(next)
}

/** Applies the defaults of a Pod that templates do not get. */
export function fillPodAlone(spec: JsonObject): JsonObject {
  const requested = (container: JsonObject): JsonObject =>
    withMember(container, 'resources', requestsFromLimits(objectMember(container, 'resources')))
  const next = withEach(withEach(spec, 'containers', requested), 'initContainers', requested)
  return Object.hasOwn(next, 'enableServiceLinks') ? next : { ...next, enableServiceLinks: true }
}

function fillContainer(container: JsonObject, isOnHost: boolean): JsonObject {
  let next = container
  if (textMember(next, 'imagePullPolicy') === '') {
    const policy = tagOf(textMember(next, 'image')) === 'latest' ? 'Always' : 'IfNotPresent'
    next = { ...next, imagePullPolicy: policy }
  }
  next = withMember(next, 'resources', roundedResources(objectMember(next, 'resources')))
  return isOnHost ? withEach(next, 'ports', withHostPort) : next
}

/** With host networking, the host port equals the container port. */
function withHostPort(port: JsonObject): JsonObject {
  const containerPort = numberMember(port, 'containerPort')
  if (containerPort === null || (numberMember(port, 'hostPort') ?? 0) !== 0) return port
  return { ...port, hostPort: containerPort }
}

/** An image without tag and digest has the tag latest. */
function tagOf(image: string): string {
  if (image === '' || image.includes('@')) return ''
  const name = image.slice(image.lastIndexOf('/') + 1)
  const colon = name.indexOf(':')
  return colon < 0 ? 'latest' : name.slice(colon + 1)
}

/** `serviceAccount` and `serviceAccountName` are kept equal; the newer field takes precedence. */
function withAccount(spec: JsonObject): JsonObject {
  const account = textMember(spec, 'serviceAccountName') || textMember(spec, 'serviceAccount')
  if (account === '') return spec
  return withMember(withMember(spec, 'serviceAccountName', account), 'serviceAccount', account)
}

function withMember(object: JsonObject, name: string, value: Json): JsonObject {
  return memberOf(object, name) === value ? object : { ...object, [name]: value }
}

/** Maps each object of a list. @returns the same object if nothing changed */
export function withEach(
  object: JsonObject,
  name: string,
  change: (item: JsonObject) => JsonObject,
): JsonObject {
  const list = memberOf(object, name)
  if (!isJsonList(list)) return object
  let changed = false
  const next = list.map((item) => {
    const made = isJsonObject(item) ? change(item) : item
    if (made !== item) changed = true
    return made
  })
  if (!changed) return object
  const draft: JsonObjectDraft = { ...object }
  draft[name] = next
  return draft
}
