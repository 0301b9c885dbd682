import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectMember, textMember } from '../../api/json.ts'
import { checkConfigKey, checkEnvironmentName } from '../../api/metadata/name-rules.ts'
import { flag, maybe, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, member, spellPath } from '../../api/schema/path.ts'
import type { ShapeCheck } from '../../api/schema/schema.ts'
import {
  checkObjectFieldSelector,
  checkResourceFieldSelector,
  objectFieldSelectorSchema,
  resourceFieldSelectorSchema,
} from './env-field-selectors.ts'
import { localObjectReferenceSchema } from '../common/local-object-reference.ts'
import { membersSet } from '../common/one-of.ts'

/** Checks that a reference names its object, which the published schema does not require. */

const isNamed: ShapeCheck = (reference, at, found) => {
  if (textMember(reference, 'name') === '') found.add(required(fieldAt(at, 'name')))
}

const reference = [{ number: 1, schema: localObjectReferenceSchema }]

export const configMapKeySelectorSchema = struct(
  'core.v1.ConfigMapKeySelector',
  'Selects a key of a ConfigMap in the namespace of the Pod.',
  {
    key: text(2, 'Key to select.', { required: true, rule: checkConfigKey }),
    optional: flag(3, 'Whether the ConfigMap or its key may be missing.', { optional: true }),
  },
  { inline: reference, mapType: 'atomic', check: isNamed },
)

export const secretKeySelectorSchema = struct(
  'core.v1.SecretKeySelector',
  'Selects a key of a Secret in the namespace of the Pod.',
  {
    key: text(2, 'Key to select.', { required: true, rule: checkConfigKey }),
    optional: flag(3, 'Whether the Secret or its key may be missing.', { optional: true }),
  },
  { inline: reference, mapType: 'atomic', check: isNamed },
)

export const envVarSourceSchema = struct(
  'core.v1.EnvVarSource',
  'Source of an environment variable; exactly one member is set.',
  {
    fieldRef: maybe(1, objectFieldSelectorSchema, 'A field of the Pod.'),
    resourceFieldRef: maybe(2, resourceFieldSelectorSchema, 'A resource request or limit of the container.'),
    configMapKeyRef: maybe(3, configMapKeySelectorSchema, 'A key of a ConfigMap.'),
    secretKeyRef: maybe(4, secretKeySelectorSchema, 'A key of a Secret.'),
  },
  { check: checkSource },
)

export const envVarSchema = struct(
  'core.v1.EnvVar',
  'An environment variable.',
  {
    name: text(1, 'Name of the variable.', { required: true, rule: checkEnvironmentName }),
    value: text(2, 'Value of the variable; $(NAME) expands another variable, and $$ is a dollar sign.'),
    valueFrom: maybe(3, envVarSourceSchema, 'Source of the value if value is empty.'),
  },
  { check: checkVariable },
)

const configMapEnvSourceSchema = struct(
  'core.v1.ConfigMapEnvSource',
  'A ConfigMap whose keys become environment variables.',
  { optional: flag(2, 'Whether the ConfigMap may be missing.', { optional: true }) },
  { inline: reference, check: isNamed },
)

const secretEnvSourceSchema = struct(
  'core.v1.SecretEnvSource',
  'A Secret whose keys become environment variables.',
  { optional: flag(2, 'Whether the Secret may be missing.', { optional: true }) },
  { inline: reference, check: isNamed },
)

export const envFromSourceSchema = struct(
  'core.v1.EnvFromSource',
  'A source of environment variables.',
  {
    prefix: text(1, 'Prefix of the variable names.', { rule: checkEnvironmentName }),
    configMapRef: maybe(2, configMapEnvSourceSchema, 'The ConfigMap.'),
    secretRef: maybe(3, secretEnvSourceSchema, 'The Secret.'),
  },
  { check: (source, at, found) => checkOnlyOne(source, at, ['configMapRef', 'secretRef'], found) },
)

/** The fields of a Pod that a variable can expose. */
const fieldPaths = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
]

function checkSource(source: JsonObject, at: Path | null, found: Findings): void {
  const members = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef']
  checkOnlyOne(source, at, members, found)
  for (const [name, selector] of selectorsOf(source)) {
    const below = member(at, name)
    if (name === 'fieldRef') checkObjectFieldSelector(selector, below, fieldPaths, found)
    else checkResourceFieldSelector(selector, below, false, found)
  }
}

function selectorsOf(source: JsonObject): readonly (readonly [string, JsonObject])[] {
  const names = membersSet(source, ['fieldRef', 'resourceFieldRef'])
  return names.map((name) => [name, objectMember(source, name)] as const)
}

function checkVariable(variable: JsonObject, at: Path | null, found: Findings): void {
  if (!Object.hasOwn(variable, 'valueFrom') || textMember(variable, 'value') === '') return
  found.add(invalid(fieldAt(at, 'valueFrom'), '', 'may not be specified when `value` is not empty'))
}

/** Uses upstream's message for variables, which differs from that for volumes and handlers. */
function checkOnlyOne(
  source: JsonObject,
  at: Path | null,
  members: readonly string[],
  found: Findings,
): void {
  const count = membersSet(source, members).length
  if (count === 1) return
  if (count > 1) {
    found.add(invalid(spellPath(at), '', 'may not have more than one field specified at a time'))
    return
  }
  const quoted = members.map((name) => `\`${name}\``)
  const words = `must specify one of: ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`
  found.add(invalid(spellPath(at), '', words))
}
