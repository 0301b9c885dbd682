import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectsMember, textMember } from '../../api/json.ts'
import { flag, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { checkDescendingPath, hasBackstep } from './file-path.ts'

/** Mount points and device paths of volumes in a container. */

export const volumeMountSchema = struct(
  'core.v1.VolumeMount',
  'Mounts a volume in a container.',
  {
    name: text(1, 'Name of the volume in the Pod.', { required: true }),
    readOnly: flag(2, 'Whether the mount is read-only.'),
    mountPath: text(3, 'Mount path in the container; must not contain a colon.', { required: true }),
    subPath: text(4, 'Path within the volume to mount; its root when unset.'),
    mountPropagation: text(5, 'Mount propagation between node and container; None when unset.', {
      optional: true,
      enum: ['Bidirectional', 'HostToContainer', 'None'],
    }),
    subPathExpr: text(6, 'Like subPath, with $(NAME) expanded from environment variables; not with subPath.'),
  },
  { check: checkMount },
)

export const volumeDeviceSchema = struct(
  'core.v1.VolumeDevice',
  'Maps a raw volume to a device of a container.',
  {
    name: text(
      1,
      'Name of the volume in the Pod; its source must be a claim, which may be an ephemeral one.',
      { required: true },
    ),
    devicePath: text(2, 'Path of the device in the container.', { required: true, rule: checkNoBacksteps }),
  },
)

/** Checks the mounts and devices of one container against each other. @param at the container */
export function checkMountsAndDevices(container: JsonObject, at: Path | null, found: Findings): void {
  const mounts = objectsMember(container, 'volumeMounts')
  const devices = objectsMember(container, 'volumeDevices')
  const devicePaths = new Set(devices.map((device) => textMember(device, 'devicePath')))
  const mountPaths = new Set<string>()
  mounts.forEach((mount, index) => {
    const path = textMember(mount, 'mountPath')
    const field = fieldAt(at, 'volumeMounts', index, 'mountPath')
    if (mountPaths.has(path)) found.add(invalid(field, path, 'must be unique'))
    if (devicePaths.has(path)) {
      found.add(invalid(field, path, 'must not already exist as a path in volumeDevices'))
    }
    mountPaths.add(path)
  })
  const mounted = new Set(mounts.map((mount) => textMember(mount, 'name')))
  checkDevices(devices, at, { mounted, mountPaths }, found)
}

type Mounted = { readonly mounted: ReadonlySet<string>; readonly mountPaths: ReadonlySet<string> }

function checkDevices(
  devices: readonly JsonObject[],
  at: Path | null,
  { mounted, mountPaths }: Mounted,
  found: Findings,
): void {
  const paths = new Set<string>()
  const names = new Set<string>()
  devices.forEach((device, index) => {
    const [name, path] = [textMember(device, 'name'), textMember(device, 'devicePath')]
    const wrong = (member: string, value: string, words: string): void => {
      found.add(invalid(fieldAt(at, 'volumeDevices', index, member), value, words))
    }
    if (names.has(name)) wrong('name', name, 'must be unique')
    if (mounted.has(name)) wrong('name', name, 'must not already exist in volumeMounts')
    if (paths.has(path)) wrong('devicePath', path, 'must be unique')
    if (mountPaths.has(path)) wrong('devicePath', path, 'must not already exist as a path in volumeMounts')
    names.add(name)
    paths.add(path)
  })
}

function checkMount(mount: JsonObject, at: Path | null, found: Findings): void {
  const [path, expression] = [textMember(mount, 'subPath'), textMember(mount, 'subPathExpr')]
  const field = fieldAt(at, 'subPathExpr')
  checkDescendingPath(path, fieldAt(at, 'subPath'), found)
  checkDescendingPath(expression, field, found)
  if (path === '' || expression === '') return
  found.add(invalid(field, expression, 'subPathExpr and subPath are mutually exclusive'))
}

function checkNoBacksteps(path: string): readonly string[] {
  return hasBackstep(path) ? ["can not contain backsteps ('..')"] : []
}
