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

/** What containers of all sorts say of themselves. */
const members = {
  name: text(1, 'Name of the container; no two of the Pod are equal.', {
    required: true,
    rule: checkDns1123Label,
  }),
  image: text(2, 'The image to run; never left out.'),
  command: texts(3, 'What to run instead of the entry point of the image.'),
  args: texts(4, 'Arguments for it, instead of those of the image.'),
  workingDir: text(5, 'Where to run it; unset: as the image says.'),
  ports: listOf(6, containerPortSchema, 'Ports it listens on; others can be reached all the same.', {
    patchMergeKey: 'containerPort',
    patchStrategy: 'merge',
    listType: 'map',
    listMapKeys: ['containerPort', 'protocol'],
  }),
  envFrom: listOf(19, envFromSourceSchema, 'Objects whose keys become variables; the last one wins.'),
  env: listOf(7, envVarSchema, 'Variables of its environment; they go before those of envFrom.', {
    patchMergeKey: 'name',
    patchStrategy: 'merge',
  }),
  resources: part(8, resourceRequirementsSchema, 'What it needs of the node.'),
  volumeMounts: listOf(9, volumeMountSchema, 'Volumes it sees as directories.', {
    patchMergeKey: 'mountPath',
    patchStrategy: 'merge',
  }),
  volumeDevices: listOf(21, volumeDeviceSchema, 'Volumes it sees as devices.', {
    patchMergeKey: 'devicePath',
    patchStrategy: 'merge',
  }),
  livenessProbe: maybe(10, probeSchema, 'Whether it lives; it is started anew when not.'),
  readinessProbe: maybe(11, probeSchema, 'Whether it can serve; it gets no traffic when not.'),
  startupProbe: maybe(22, probeSchema, 'Whether it has started; the other probes wait for that.'),
  lifecycle: maybe(12, lifecycleSchema, 'What to do when it begins and before it ends.'),
  terminationMessagePath: text(13, 'The file in which it may leave its last words.', {
    default: '/dev/termination-log',
  }),
  terminationMessagePolicy: text(
    20,
    'File: last words are in the file; FallbackToLogsOnError: else in the log.',
    {
      default: 'File',
      enum: ['FallbackToLogsOnError', 'File'],
    },
  ),
  imagePullPolicy: text(14, 'When to fetch the image; unset: Always for the tag latest, else IfNotPresent.', {
    enum: ['Always', 'IfNotPresent', 'Never'],
  }),
  securityContext: maybe(15, securityContextSchema, 'What its processes run as and may do.'),
  stdin: flag(16, 'Whether it has a standard input.'),
  stdinOnce: flag(17, 'Whether that is closed behind the first who was attached.'),
  tty: flag(18, 'Whether it has a terminal.'),
}

export const containerSchema = struct('core.v1.Container', 'A program that a Pod runs.', members, {
  check: checkContainer,
})

const ephemeralContainerCommonSchema = struct(
  'core.v1.EphemeralContainerCommon',
  'What an ephemeral container has in common with others.',
  members,
  { check: checkEphemeral },
)

export const ephemeralContainerSchema = struct(
  'core.v1.EphemeralContainer',
  'A program that is added to a running Pod, to look into it.',
  { targetContainerName: text(2, 'The container whose processes it sees; unset: only its own.') },
  { inline: [{ number: 1, schema: ephemeralContainerCommonSchema }] },
)

/** What only containers that are there for good may say. */
const lasting = [
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
  for (const name of lasting.filter((name) => !isEmpty(container, name)))
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

/** Not said to be required in documents, as configuration may be completed on its way here. */
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
