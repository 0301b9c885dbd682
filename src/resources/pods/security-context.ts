import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import { flag, int64, listOf, maybe, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import type { Schema } from '../../api/schema/schema.ts'
import { checkDescendingPath } from '../volumes/file-path.ts'
import { windowsSecurityContextOptionsSchema } from './windows-options.ts'

/** User, group and privileges of the processes of a container, or of all containers of a Pod. */

/** The range of user and group IDs. */
const idRange = { minimum: 0, maximum: 2 ** 31 - 1 }

export const seLinuxOptionsSchema = struct('core.v1.SELinuxOptions', 'SELinux labels of a container.', {
  user: text(1, 'SELinux user.'),
  role: text(2, 'SELinux role.'),
  type: text(3, 'SELinux type.'),
  level: text(4, 'SELinux level.'),
})

const seccompProfileSchema = struct(
  'core.v1.SeccompProfile',
  'Seccomp profile: filters system calls.',
  {
    type: text(1, 'Type of the profile: Localhost for a file of the node, RuntimeDefault, or Unconfined.', {
      required: true,
      enum: ['Localhost', 'RuntimeDefault', 'Unconfined'],
    }),
    localhostProfile: text(
      2,
      'Path of the profile, relative to the profile directory of the node; only for Localhost.',
      {
        optional: true,
      },
    ),
  },
  {
    check: checkSeccomp,
    unions: [{ discriminator: 'type', members: { localhostProfile: 'LocalhostProfile' } }],
  },
)

const capabilitiesSchema = struct('core.v1.Capabilities', 'Linux capabilities to add or drop.', {
  add: texts(1, 'Added capabilities.'),
  drop: texts(2, 'Dropped capabilities.'),
})

const runAsNonRoot = 'Whether to refuse to start as user 0.'

export const securityContextSchema = struct(
  'core.v1.SecurityContext',
  'Security settings of a container; they override those of the Pod.',
  {
    capabilities: maybe(1, capabilitiesSchema, 'Capabilities to add or drop.'),
    privileged: flag(2, 'Whether the container runs in privileged mode.', { optional: true }),
    seLinuxOptions: maybe(3, seLinuxOptionsSchema, 'SELinux labels.'),
    windowsOptions: maybe(10, windowsSecurityContextOptionsSchema, 'Options for Windows containers.'),
    runAsUser: int64(4, "UID of the processes; the image's user when unset.", { optional: true, ...idRange }),
    runAsGroup: int64(8, "GID of the processes; the runtime's default when unset.", {
      optional: true,
      ...idRange,
    }),
    runAsNonRoot: flag(5, runAsNonRoot, { optional: true }),
    readOnlyRootFilesystem: flag(6, 'Whether the root file system is read-only.', { optional: true }),
    allowPrivilegeEscalation: flag(7, 'Whether a process can gain more privileges than its parent.', {
      optional: true,
    }),
    procMount: text(9, 'Mount type of /proc: Default or Unmasked.', {
      optional: true,
      enum: ['Default', 'Unmasked'],
    }),
    seccompProfile: maybe(11, seccompProfileSchema, 'Seccomp profile of the container.'),
  },
  { check: checkEscalation },
)

const sysctlSchema = struct('core.v1.Sysctl', 'A kernel parameter.', {
  name: text(1, 'Name of the parameter.', { required: true, rule: checkSysctlName }),
  value: text(2, 'Its value.', { required: true, always: true }),
})

const int64Item: Schema = { type: 'integer', format: 'int64', ...idRange }

export const podSecurityContextSchema = struct(
  'core.v1.PodSecurityContext',
  'Security settings of a Pod.',
  {
    seLinuxOptions: maybe(1, seLinuxOptionsSchema, 'SELinux labels of all containers.'),
    windowsOptions: maybe(8, windowsSecurityContextOptionsSchema, 'Options for Windows containers.'),
    runAsUser: int64(2, "UID of the processes; the image's user when unset.", { optional: true, ...idRange }),
    runAsGroup: int64(6, "GID of the processes; the runtime's default when unset.", {
      optional: true,
      ...idRange,
    }),
    runAsNonRoot: flag(3, runAsNonRoot, { optional: true }),
    supplementalGroups: listOf(4, int64Item, 'Supplemental GIDs of the first process of each container.'),
    fsGroup: int64(5, 'GID that owns the volumes.', { optional: true, ...idRange }),
    sysctls: listOf(7, sysctlSchema, 'Kernel parameters of the Pod.'),
    fsGroupChangePolicy: text(
      9,
      'When the ownership of volumes is changed: Always (default) or OnRootMismatch.',
      {
        optional: true,
        enum: ['Always', 'OnRootMismatch'],
      },
    ),
    seccompProfile: maybe(10, seccompProfileSchema, 'Seccomp profile of the containers.'),
  },
  { check: checkSysctls },
)

function checkSeccomp(profile: JsonObject, at: Path | null, found: Findings): void {
  const field = fieldAt(at, 'localhostProfile')
  const isSet = Object.hasOwn(profile, 'localhostProfile')
  const type = textMember(profile, 'type')
  if (type === 'Localhost') {
    if (!isSet) {
      found.add(required(field, 'must be set when seccomp type is Localhost'))
      return
    }
    checkDescendingPath(textMember(profile, 'localhostProfile'), field, found)
    return
  }
  if (!isSet || type === '') return
  const words = 'can only be set when seccomp type is Localhost'
  found.add(invalid(field, textMember(profile, 'localhostProfile'), words))
}

function checkEscalation(context: JsonObject, at: Path | null, found: Findings): void {
  if (memberOf(context, 'allowPrivilegeEscalation') !== false) return
  const refuse = (what: string): void => {
    const words = `cannot set \`allowPrivilegeEscalation\` to false and ${what}`
    found.add(invalid(spellPath(at), context, words))
  }
  if (memberOf(context, 'privileged') === true) refuse('`privileged` to true')
  if (textsMember(objectMember(context, 'capabilities'), 'add').includes('CAP_SYS_ADMIN')) {
    refuse('`capabilities.Add` CAP_SYS_ADMIN')
  }
}

const SYSCTL = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9]'
const sysctlPart = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/

function checkSysctlName(name: string): readonly string[] {
  if (name.length <= 253 && name.split(/[./]/).every((part) => sysctlPart.test(part))) return []
  return [`must have at most 253 characters and match regex ^${SYSCTL}$`]
}

function checkSysctls(context: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  objectsMember(context, 'sysctls').forEach((sysctl, index) => {
    const name = textMember(sysctl, 'name')
    if (name !== '' && seen.has(name)) found.add(duplicate(fieldAt(at, 'sysctls', index, 'name'), name))
    seen.add(name)
  })
}
