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

/** What processes of a container, or of all containers of a Pod, run as and may do. */

/** Numbers of users and groups. */
const idRange = { minimum: 0, maximum: 2 ** 31 - 1 }

const seLinuxOptionsSchema = struct('core.v1.SELinuxOptions', 'The SELinux context of a container.', {
  user: text(1, 'User of the context.'),
  role: text(2, 'Role of the context.'),
  type: text(3, 'Type of the context.'),
  level: text(4, 'Level of the context.'),
})

const seccompProfileSchema = struct(
  'core.v1.SeccompProfile',
  'Which system calls a container may make.',
  {
    type: text(1, 'Localhost: a file of the node; RuntimeDefault: as the runtime has it; Unconfined: all.', {
      required: true,
      enum: ['Localhost', 'RuntimeDefault', 'Unconfined'],
    }),
    localhostProfile: text(
      2,
      'The file, relative to where the node keeps such profiles; only for Localhost.',
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

const capabilitiesSchema = struct(
  'core.v1.Capabilities',
  'What a container may do beyond or below the default.',
  {
    add: texts(1, 'Capabilities it gets besides.'),
    drop: texts(2, 'Capabilities it does not get.'),
  },
)

const runAsNonRoot = 'Whether to refuse to start as user 0.'

export const securityContextSchema = struct(
  'core.v1.SecurityContext',
  'What the processes of a container run as and may do; goes before what the Pod says.',
  {
    capabilities: maybe(1, capabilitiesSchema, 'Capabilities besides and without the default.'),
    privileged: flag(2, 'Whether its processes are as good as root on the node.', { optional: true }),
    seLinuxOptions: maybe(3, seLinuxOptionsSchema, 'The SELinux context.'),
    windowsOptions: maybe(10, windowsSecurityContextOptionsSchema, 'For containers of Windows.'),
    runAsUser: int64(4, 'Number of the user; unset: as the image says.', { optional: true, ...idRange }),
    runAsGroup: int64(8, 'Number of the group; unset: as the runtime says.', { optional: true, ...idRange }),
    runAsNonRoot: flag(5, runAsNonRoot, { optional: true }),
    readOnlyRootFilesystem: flag(6, 'Whether its root file system can only be read.', { optional: true }),
    allowPrivilegeEscalation: flag(7, 'Whether a process can gain more than its parent has.', {
      optional: true,
    }),
    procMount: text(9, 'Default, or Unmasked for a /proc with nothing hidden.', {
      optional: true,
      enum: ['Default', 'Unmasked'],
    }),
    seccompProfile: maybe(11, seccompProfileSchema, 'Which system calls it may make.'),
  },
  { check: checkEscalation },
)

const sysctlSchema = struct('core.v1.Sysctl', 'A parameter of the kernel.', {
  name: text(1, 'Name of the parameter.', { required: true, rule: checkSysctlName }),
  value: text(2, 'Its value.', { required: true, always: true }),
})

const int64Item: Schema = { type: 'integer', format: 'int64', ...idRange }

export const podSecurityContextSchema = struct(
  'core.v1.PodSecurityContext',
  'What the processes of all containers run as and may do.',
  {
    seLinuxOptions: maybe(1, seLinuxOptionsSchema, 'The SELinux context of all containers.'),
    windowsOptions: maybe(8, windowsSecurityContextOptionsSchema, 'For containers of Windows.'),
    runAsUser: int64(2, 'Number of the user; unset: as the image says.', { optional: true, ...idRange }),
    runAsGroup: int64(6, 'Number of the group; unset: as the runtime says.', { optional: true, ...idRange }),
    runAsNonRoot: flag(3, runAsNonRoot, { optional: true }),
    supplementalGroups: listOf(
      4,
      int64Item,
      'Numbers of more groups of the first process of each container.',
    ),
    fsGroup: int64(5, 'Number of the group that owns the volumes.', { optional: true, ...idRange }),
    sysctls: listOf(7, sysctlSchema, 'Parameters of the kernel in the namespaces of the Pod.'),
    fsGroupChangePolicy: text(9, 'When volumes get that group: Always, or OnRootMismatch; unset is Always.', {
      optional: true,
      enum: ['Always', 'OnRootMismatch'],
    }),
    seccompProfile: maybe(10, seccompProfileSchema, 'Which system calls the containers may make.'),
  },
  { check: checkSysctls },
)

function checkSeccomp(profile: JsonObject, at: Path | null, found: Findings): void {
  const field = fieldAt(at, 'localhostProfile')
  const isSaid = Object.hasOwn(profile, 'localhostProfile')
  const type = textMember(profile, 'type')
  if (type === 'Localhost') {
    if (!isSaid) {
      found.add(required(field, 'must be set when seccomp type is Localhost'))
      return
    }
    checkDescendingPath(textMember(profile, 'localhostProfile'), field, found)
    return
  }
  if (!isSaid || type === '') return
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
