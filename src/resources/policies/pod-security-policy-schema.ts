import type { Findings } from '../../api/errors/findings.ts'
import { invalid, notSupported } from '../../api/errors/field-error.ts'
import { integerMember, memberOf, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { flag, int32, int64, listOf, maybe, part, struct, text, texts } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { ObjectSchema, ShapeCheck } from '../../api/schema/schema.ts'
import { seLinuxOptionsSchema } from '../pods/security-context.ts'

/** The shape of a PodSecurityPolicy. Its checks: upstream `pkg/apis/policy/validation`. */

/** Required, but written even if it is empty. Only checks in upstream's words refuse that. */
const checked = { required: true, always: true } as const

const rangeSchema = struct(
  'policy.v1beta1.IDRange',
  'A range of user or group IDs.',
  { min: int64(1, 'The first ID.', checked), max: int64(2, 'The last ID.', checked) },
  { check: checkRange },
)

const portsSchema = struct('policy.v1beta1.HostPortRange', 'A range of ports of the node.', {
  min: int32(1, 'The first port.', checked),
  max: int32(2, 'The last port.', checked),
})

const hostPathSchema = struct('policy.v1beta1.AllowedHostPath', 'Paths of the node that Pods may mount.', {
  pathPrefix: text(1, 'Prefix of the paths.'),
  readOnly: flag(2, 'Whether volumes of these paths must be read-only.'),
})

const flexVolumeSchema = struct(
  'policy.v1beta1.AllowedFlexVolume',
  'A driver of volumes that Pods may use.',
  { driver: text(1, 'Name of the driver.', checked) },
)

const csiDriverSchema = struct('policy.v1beta1.AllowedCSIDriver', 'A CSI driver that Pods may use inline.', {
  name: text(1, 'Name of the driver.', checked),
})

const runtimeClassSchema = struct(
  'policy.v1beta1.RuntimeClassStrategyOptions',
  'Runtime classes that Pods may use.',
  {
    allowedRuntimeClassNames: texts(1, 'Names of the classes, or * for all.', checked),
    defaultRuntimeClassName: text(2, 'Name of the class of Pods without one.', { optional: true }),
  },
)

const ranges = listOf(2, rangeSchema, 'Ranges of the IDs.')
const ruleWords = 'Which values are allowed: '

/** Declares a strategy: a rule, and the ranges that it allows. */
function strategy(name: string, rules: readonly string[], check: ShapeCheck): ObjectSchema {
  const fields = { rule: text(1, `${ruleWords}${rules.join(', ')}.`), ranges }
  return struct(`policy.v1beta1.${name}`, `${ruleWords}a rule and ranges.`, fields, { check })
}

/** Declares a strategy whose rule is required. */
function requiredStrategy(name: string, rules: readonly string[], check: ShapeCheck): ObjectSchema {
  const fields = { rule: text(1, `${ruleWords}${rules.join(', ')}.`, checked), ranges }
  return struct(`policy.v1beta1.${name}`, `${ruleWords}a rule and ranges.`, fields, { check })
}

const userRules = ['MustRunAs', 'MustRunAsNonRoot', 'RunAsAny']
const groupRules = ['MayRunAs', 'MustRunAs', 'RunAsAny']
const labelRules = ['MustRunAs', 'RunAsAny']

const labelsSchema = struct(
  'policy.v1beta1.SELinuxStrategyOptions',
  'Which SELinux labels are allowed.',
  {
    rule: text(1, `${ruleWords}${labelRules.join(', ')}.`, checked),
    seLinuxOptions: maybe(2, seLinuxOptionsSchema, 'The labels, for MustRunAs.'),
  },
  { check: ruleIsOneOf(labelRules) },
)

const userSchema = requiredStrategy('RunAsUserStrategyOptions', userRules, ruleIsOneOf(userRules))
const groupSchema = requiredStrategy('RunAsGroupStrategyOptions', groupRules, checkGroup)
const ownerSchema = strategy('FSGroupStrategyOptions', groupRules, ruleIsOneOf(groupRules))
const moreGroupsSchema = strategy('SupplementalGroupsStrategyOptions', groupRules, ruleIsOneOf(groupRules))

const of = (number: number, schema: ObjectSchema, words: string): Field =>
  part(number, schema, words, checked)

const specSchema = struct('policy.v1beta1.PodSecurityPolicySpec', 'What Pods may do.', {
  privileged: flag(1, 'Whether containers may be privileged.'),
  defaultAddCapabilities: texts(2, 'Capabilities that containers get.'),
  requiredDropCapabilities: texts(3, 'Capabilities that containers lose.'),
  allowedCapabilities: texts(4, 'Capabilities that containers may add, or * for all.'),
  volumes: texts(5, 'Types of volumes that Pods may have, or * for all.'),
  hostNetwork: flag(6, 'Whether Pods may use the network of the node.'),
  hostPorts: listOf(7, portsSchema, 'Ports of the node that Pods may use.'),
  hostPID: flag(8, 'Whether Pods may see the processes of the node.'),
  hostIPC: flag(9, 'Whether Pods may use the IPC of the node.'),
  seLinux: of(10, labelsSchema, 'SELinux labels.'),
  runAsUser: of(11, userSchema, 'Users of containers.'),
  runAsGroup: maybe(22, groupSchema, 'Primary groups of containers; any when unset.'),
  supplementalGroups: of(12, moreGroupsSchema, 'Supplemental groups.'),
  fsGroup: of(13, ownerSchema, 'Groups that own volumes.'),
  readOnlyRootFilesystem: flag(14, 'Whether root file systems must be read-only.'),
  defaultAllowPrivilegeEscalation: flag(15, 'Whether processes gain privileges by default.', {
    optional: true,
  }),
  allowPrivilegeEscalation: flag(16, 'Whether processes may gain privileges.', {
    ...{ optional: true, default: true },
  }),
  allowedHostPaths: listOf(17, hostPathSchema, 'Paths of the node that Pods may mount; all when empty.'),
  allowedFlexVolumes: listOf(18, flexVolumeSchema, 'Drivers of flexVolumes; all when empty.'),
  allowedCSIDrivers: listOf(23, csiDriverSchema, 'Inline CSI drivers; all when empty.'),
  allowedUnsafeSysctls: texts(19, 'Unsafe kernel parameters that Pods may set; * at the end is a pattern.'),
  forbiddenSysctls: texts(20, 'Kernel parameters that Pods may not set; * at the end is a pattern.'),
  allowedProcMountTypes: texts(21, 'Mount types of /proc; dropped.'),
  runtimeClass: maybe(24, runtimeClassSchema, 'Runtime classes; any when unset.'),
})

export const podSecurityPolicySchema = struct(
  'policy.v1beta1.PodSecurityPolicy',
  'Deprecated. What the Pods of a user may do.',
  { spec: part(2, specSchema, 'What Pods may do.') },
)

function ruleIsOneOf(rules: readonly string[]): ShapeCheck {
  return (strategy, at, found) => {
    const rule = textMember(strategy, 'rule')
    if (!rules.includes(rule)) found.add(notSupported(fieldAt(at, 'rule'), rule, rules))
  }
}

function checkGroup(strategy: JsonObject, at: Path | null, found: Findings): void {
  ruleIsOneOf(groupRules)(strategy, at, found)
  const rule = textMember(strategy, 'rule')
  const given = objectsMember(strategy, 'ranges')
  const place = fieldAt(at, 'ranges')
  if (rule === 'RunAsAny' && given.length > 0) found.add(invalid(place, given, 'Ranges must be empty'))
  if ((rule === 'MustRunAs' || rule === 'MayRunAs') && given.length === 0)
    found.add(invalid(place, memberOf(strategy, 'ranges') ?? null, 'must provide at least one range'))
}

function checkRange(range: JsonObject, at: Path | null, found: Findings): void {
  const [min, max] = [integerMember(range, 'min') ?? 0, integerMember(range, 'max') ?? 0]
  if (min < 0) found.add(invalid(fieldAt(at, 'min'), min, 'min cannot be negative'))
  if (max < 0) found.add(invalid(fieldAt(at, 'max'), max, 'max cannot be negative'))
  if (min > max) found.add(invalid(fieldAt(at, 'min'), min, 'min cannot be greater than max'))
}
