import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { integerMember, objectMember, objectsMember, textMember } from '../../api/json.ts'
import { flag, int32, int64, listOf, maybe, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, listIndex, member, spellPath } from '../../api/schema/path.ts'
import {
  checkObjectFieldSelector,
  checkResourceFieldSelector,
  objectFieldSelectorSchema,
  resourceFieldSelectorSchema,
} from '../containers/env-field-selectors.ts'
import { checkFilePath } from './file-path.ts'
import { localObjectReferenceSchema } from '../common/local-object-reference.ts'
import { atMostOne } from '../common/one-of.ts'
import { requiredTexts } from '../common/required-texts.ts'

/** Volumes with files of ConfigMaps, Secrets, Pod fields and tokens. @source spec 2.5 */

const fileMode = { optional: true, minimum: 0, maximum: 0o777 } as const
const defaultMode = int32(3, 'Default mode bits of files, 0 to 511.', {
  ...fileMode,
  default: 0o644,
})
const modeOfProjection = { ...defaultMode, number: 2 }
const optional = flag(4, 'Whether the object or its keys may be missing.', { optional: true })

const keyToPathSchema = struct(
  'core.v1.KeyToPath',
  'Maps a key to a file.',
  {
    key: text(1, 'Key to show.', { required: true }),
    path: text(2, 'Relative path of the file in the volume, without `..`.', { required: true }),
    mode: int32(3, "Mode bits of this file, 0 to 511; the volume's default when unset.", fileMode),
  },
  { check: (file, at, found) => checkFilePath(textMember(file, 'path'), fieldAt(at, 'path'), found) },
)

const items = listOf(
  2,
  keyToPathSchema,
  'Keys to show and their paths; all keys under their names when empty.',
)

const downwardAPIVolumeFileSchema = struct(
  'core.v1.DownwardAPIVolumeFile',
  'A file with a field of the Pod.',
  {
    path: text(1, 'Relative path of the file in the volume, without `..`.', { required: true }),
    fieldRef: maybe(2, objectFieldSelectorSchema, 'A metadata field of the Pod.'),
    resourceFieldRef: maybe(3, resourceFieldSelectorSchema, 'A resource request or limit of a container.'),
    mode: int32(4, "Mode bits of this file, 0 to 511; the volume's default when unset.", fileMode),
  },
  { check: checkDownwardAPIFile },
)

const downwardAPIItems = listOf(1, downwardAPIVolumeFileSchema, 'The files.')

export const configMapVolumeSourceSchema = struct(
  'core.v1.ConfigMapVolumeSource',
  'The keys of a ConfigMap as files.',
  { items, defaultMode, optional },
  { inline: [{ number: 1, schema: localObjectReferenceSchema }], check: checkName },
)

export const secretVolumeSourceSchema = struct(
  'core.v1.SecretVolumeSource',
  'The keys of a Secret as files.',
  { secretName: text(1, 'Name of the Secret.'), items, defaultMode, optional },
  { check: (source, at, found) => requiredTexts(source, at, ['secretName'], found) },
)

export const downwardAPIVolumeSourceSchema = struct(
  'core.v1.DownwardAPIVolumeSource',
  'Fields of the Pod as files.',
  { items: downwardAPIItems, defaultMode: modeOfProjection },
)

const secretProjectionSchema = struct(
  'core.v1.SecretProjection',
  'The keys of a Secret among the files of a projected volume.',
  { items, optional },
  { inline: [{ number: 1, schema: localObjectReferenceSchema }], check: checkName },
)

const configMapProjectionSchema = struct(
  'core.v1.ConfigMapProjection',
  'The keys of a ConfigMap among the files of a projected volume.',
  { items, optional },
  { inline: [{ number: 1, schema: localObjectReferenceSchema }], check: checkName },
)

const downwardAPIProjectionSchema = struct(
  'core.v1.DownwardAPIProjection',
  'Fields of the Pod among the files of a projected volume.',
  { items: downwardAPIItems },
)

/** The range of token lifetimes, in seconds. */
const TOKEN_SECONDS_MIN = 10 * 60
const TOKEN_SECONDS_MAX = 2 ** 32

const serviceAccountTokenProjectionSchema = struct(
  'core.v1.ServiceAccountTokenProjection',
  'A service account token of the Pod, rotated before it expires.',
  {
    audience: text(1, 'Audience of the token; this API server when unset.'),
    expirationSeconds: int64(2, 'Lifetime of the token in seconds, at least 600.', {
      optional: true,
      default: 3600,
    }),
    path: text(3, 'Relative path of the token in the volume, without `..`.', { required: true }),
  },
  { check: checkTokenProjection },
)

/** Sources of a projection, in the order in which a second one is reported. */
const projections = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken']

const volumeProjectionSchema = struct(
  'core.v1.VolumeProjection',
  'One source of a projected volume.',
  {
    secret: maybe(1, secretProjectionSchema, 'The keys of a Secret.'),
    downwardAPI: maybe(2, downwardAPIProjectionSchema, 'Fields of the Pod.'),
    configMap: maybe(3, configMapProjectionSchema, 'The keys of a ConfigMap.'),
    serviceAccountToken: maybe(
      4,
      serviceAccountTokenProjectionSchema,
      "A token of the Pod's service account.",
    ),
  },
  { check: (source, at, found) => atMostOne(source, at, projections, 'volume', found) },
)

export const projectedVolumeSourceSchema = struct(
  'core.v1.ProjectedVolumeSource',
  'Several sources combined in one volume.',
  {
    sources: listOf(1, volumeProjectionSchema, 'Sources of the files.', { always: true }),
    defaultMode: modeOfProjection,
  },
  { check: checkDistinctPaths },
)

function checkName(source: JsonObject, at: Path | null, found: Findings): void {
  requiredTexts(source, at, ['name'], found)
}

/** Allowed fields, in addition to labels and annotations by key. */
const FIELDS_IN_FILES = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
]

function checkDownwardAPIFile(file: JsonObject, at: Path | null, found: Findings): void {
  checkFilePath(textMember(file, 'path'), fieldAt(at, 'path'), found)
  const isField = Object.hasOwn(file, 'fieldRef')
  const isAmount = Object.hasOwn(file, 'resourceFieldRef')
  if (!isField && !isAmount) {
    found.add(required(spellPath(at), 'one of fieldRef and resourceFieldRef is required'))
    return
  }
  if (isField && isAmount) {
    const words = 'fieldRef and resourceFieldRef can not be specified simultaneously'
    found.add(invalid(spellPath(at), 'resource', words))
    return
  }
  const there = isField ? 'fieldRef' : 'resourceFieldRef'
  const [selector, where] = [objectMember(file, there), member(at, there)]
  if (isField) checkObjectFieldSelector(selector, where, FIELDS_IN_FILES, found)
  else checkResourceFieldSelector(selector, where, true, found)
}

function checkTokenProjection(token: JsonObject, at: Path | null, found: Findings): void {
  checkFilePath(textMember(token, 'path'), fieldAt(at, 'path'), found)
  const seconds = integerMember(token, 'expirationSeconds')
  if (seconds === null) return
  const field = fieldAt(at, 'expirationSeconds')
  if (seconds < TOKEN_SECONDS_MIN) {
    found.add(invalid(field, seconds, 'may not specify a duration less than 10 minutes'))
  } else {
    if (seconds > TOKEN_SECONDS_MAX) {
      found.add(invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'))
    }
  }
}

/** Two sources must not have files with the same path. */
function checkDistinctPaths(source: JsonObject, at: Path | null, found: Findings): void {
  const seen = new Set<string>()
  const note = (path: string, where: Path): void => {
    if (path === '') return
    if (seen.has(path)) found.add(invalid(fieldAt(where, 'path'), path, 'conflicting duplicate paths'))
    seen.add(path)
  }
  for (const [index, projection] of objectsMember(source, 'sources').entries()) {
    const where = listIndex(member(at, 'sources'), index)
    for (const name of projections) {
      const content = objectMember(projection, name)
      const inside = member(where, name)
      if (name === 'serviceAccountToken') note(textMember(content, 'path'), inside)
      for (const [number, item] of objectsMember(content, 'items').entries()) {
        note(textMember(item, 'path'), listIndex(member(inside, 'items'), number))
      }
    }
  }
}
