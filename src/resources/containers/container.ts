import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import {
  integerMember,
  memberOf,
  numberMember,
  objectMember,
  objectsMember,
  textMember,
} from '../../api/json.ts'
import { checkDns1123Label } from '../../api/metadata/name-rules.ts'
import { flag, listOf, maybe, part, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, member } from '../../api/schema/path.ts'
import { containerPortSchema } from './container-port.ts'
import { checkContainerResources } from './container-resources.ts'
import { envFromSourceSchema, envVarSchema } from './env.ts'
import { lifecycleSchema } from './handler.ts'
import { probeSchema } from './probe.ts'
import { resourceRequirementsSchema } from './resource-requirements.ts'
import { securityContextSchema } from '../pods/security-context.ts'
import { checkMountsAndDevices, volumeDeviceSchema, volumeMountSchema } from '../volumes/volume-mount.ts'

/** Members of all types of containers. */
const members = {
  name: text(1, 'Name of the container, unique in the Pod.', {
    required: true,
    rule: checkDns1123Label,
  }),
  image: text(2, 'Image to run; required.'),
  command: texts(3, 'Command that replaces the entry point of the image.'),
  args: texts(4, 'Arguments that replace those of the image.'),
  workingDir: text(5, "Working directory; the image's default when unset."),
  ports: listOf(6, containerPortSchema, 'Ports that the container listens on; informational.', {
    patchMergeKey: 'containerPort',
    patchStrategy: 'merge',
    listType: 'map',
    listMapKeys: ['containerPort', 'protocol'],
  }),
  envFrom: listOf(
    19,
    envFromSourceSchema,
    'Objects whose keys become environment variables; the last source wins.',
  ),
  env: listOf(7, envVarSchema, 'Environment variables; they override envFrom.', {
    patchMergeKey: 'name',
    patchStrategy: 'merge',
  }),
  resources: part(8, resourceRequirementsSchema, 'Compute resources of the container.'),
  volumeMounts: listOf(9, volumeMountSchema, 'Volumes to mount as directories.', {
    patchMergeKey: 'mountPath',
    patchStrategy: 'merge',
  }),
  volumeDevices: listOf(21, volumeDeviceSchema, 'Raw volumes to attach as devices.', {
    patchMergeKey: 'devicePath',
    patchStrategy: 'merge',
  }),
  livenessProbe: maybe(10, probeSchema, 'Liveness probe; the container restarts when it fails.'),
  readinessProbe: maybe(
    11,
    probeSchema,
    'Readiness probe; the container receives no traffic while it fails.',
  ),
  startupProbe: maybe(22, probeSchema, 'Startup probe; the other probes begin after it has succeeded.'),
  lifecycle: maybe(
    12,
    lifecycleSchema,
    'Hooks that run after the start and before the end of the container.',
  ),
  terminationMessagePath: text(13, 'File for the termination message.', {
    default: '/dev/termination-log',
  }),
  terminationMessagePolicy: text(
    20,
    'Source of the termination message: File, or FallbackToLogsOnError for the end of the log.',
    {
      default: 'File',
      enum: ['FallbackToLogsOnError', 'File'],
    },
  ),
  imagePullPolicy: text(
    14,
    'Pull policy of the image; defaults to Always for the tag latest, else to IfNotPresent.',
    {
      enum: ['Always', 'IfNotPresent', 'Never'],
    },
  ),
  securityContext: maybe(15, securityContextSchema, 'Security settings of the container.'),
  stdin: flag(16, 'Whether the container has a standard input.'),
  stdinOnce: flag(17, 'Whether standard input closes after the first attach session.'),
  tty: flag(18, 'Whether the container has a terminal.'),
}

export const containerSchema = struct('core.v1.Container', 'A container of a Pod.', members, {
  check: checkContainer,
})

const ephemeralContainerCommonSchema = struct(
  'core.v1.EphemeralContainerCommon',
  'Fields that ephemeral containers share with other containers.',
  members,
  { check: checkEphemeral },
)

export const ephemeralContainerSchema = struct(
  'core.v1.EphemeralContainer',
  'A container that is added to a running Pod for debugging.',
  { targetContainerName: text(2, 'Container whose process namespace is shared; none when unset.') },
  { inline: [{ number: 1, schema: ephemeralContainerCommonSchema }] },
)

/** Members that ephemeral containers cannot have. */
const notForEphemeral = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resources',
  'volumeDevices',
]

function checkContainer(container: JsonObject, at: Path | null, found: Findings): void {
  checkImage(container, at, found)
  checkPortNames(container, at, found)
  checkMountsAndDevices(container, at, found)
  checkPropagation(container, at, found)
  checkProbes(container, at, found)
  checkContainerResources(objectMember(container, 'resources'), member(at, 'resources'), found)
}

/** @source core `pkg/apis/core/validation`, validateEphemeralContainers */
function checkEphemeral(container: JsonObject, at: Path | null, found: Findings): void {
  const words = 'cannot be set for an Ephemeral Container'
  for (const name of notForEphemeral.filter((name) => !isEmpty(container, name)))
    found.add(fieldForbidden(fieldAt(at, name), words))
  objectsMember(container, 'volumeMounts').forEach((mount, index) => {
    for (const name of ['subPath', 'subPathExpr']) {
      if (textMember(mount, name) === '') continue
      found.add(fieldForbidden(fieldAt(at, 'volumeMounts', index, name), words))
    }
  })
  checkImage(container, at, found)
  checkMountsAndDevices(container, at, found)
  checkPropagation(container, at, found)
}

/** Requires an image. OpenAPI does not, because tools may fill it in later. */
function checkImage(container: JsonObject, at: Path | null, found: Findings): void {
  if (textMember(container, 'image') === '') found.add(required(fieldAt(at, 'image')))
}

function isEmpty(container: JsonObject, name: string): boolean {
  const value = memberOf(container, name)
  return (
    value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  )
}

function checkPortNames(container: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  objectsMember(container, 'ports').forEach((port, index) => {
    const name = textMember(port, 'name')
    if (name !== '' && seen.has(name)) found.add(duplicate(fieldAt(at, 'ports', index, 'name'), name))
    seen.add(name)
  })
}

function checkPropagation(container: JsonObject, at: Path | null, found: Findings): void {
  if (memberOf(objectMember(container, 'securityContext'), 'privileged') === true) return
  const words = 'Bidirectional mount propagation is available only to privileged containers'
  for (const [index, mount] of objectsMember(container, 'volumeMounts').entries()) {
    if (textMember(mount, 'mountPropagation') === 'Bidirectional')
      found.add(fieldForbidden(fieldAt(at, 'volumeMounts', index, 'mountPropagation'), words))
  }
}

function checkProbes(container: JsonObject, at: Path | null, found: Findings): void {
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = objectMember(container, name)
    const successes = numberMember(probe, 'successThreshold')
    if (successes !== null && successes !== 1 && name !== 'readinessProbe') {
      found.add(invalid(fieldAt(at, name, 'successThreshold'), successes, 'must be 1'))
    }
    const seconds = integerMember(probe, 'terminationGracePeriodSeconds')
    if (seconds === null) continue
    const field = fieldAt(at, name, 'terminationGracePeriodSeconds')
    if (name === 'readinessProbe') found.add(invalid(field, seconds, 'must not be set for readinessProbes'))
    else if (seconds <= 0) found.add(invalid(field, seconds, 'must be greater than 0'))
  }
}
