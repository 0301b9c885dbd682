import type { Findings } from '../../api/errors/findings.ts'
import { invalid } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { flag, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { utf8Length } from '../../api/utf8.ts'

export const windowsSecurityContextOptionsSchema = struct(
  'core.v1.WindowsSecurityContextOptions',
  'Security settings of Windows containers.',
  {
    gmsaCredentialSpecName: text(1, 'Name of the GMSA credential spec.', {
      optional: true,
      rule: checkDns1123Subdomain,
    }),
    gmsaCredentialSpec: text(2, 'Contents of the GMSA credential spec; at most 64 KiB.', {
      optional: true,
    }),
    runAsUserName: text(
      3,
      "User of the first process, as USER or DOMAIN\\USER; the image's user when unset.",
      {
        optional: true,
      },
    ),
    hostProcess: flag(4, 'Whether the containers run as host processes; all or none of a Pod.', {
      optional: true,
    }),
  },
  { check: checkOptions },
)

const CREDENTIALS_BYTES_MAX = 64 * 1024
const DOMAIN_LENGTH_MAX = 256
const USER_LENGTH_MAX = 104

/** @source core `pkg/apis/core/validation`, validateWindowsSecurityContextOptions */
function checkOptions(options: JsonObject, at: Path | null, found: Findings): void {
  const wrong = (name: string, value: string, words: string): void => {
    found.add(invalid(fieldAt(at, name), value, `${name} ${words}`))
  }
  const credentials = memberOf(options, 'gmsaCredentialSpec')
  if (credentials === '') wrong('gmsaCredentialSpec', '', 'cannot be an empty string')
  else {
    if (typeof credentials === 'string' && utf8Length(credentials) > CREDENTIALS_BYTES_MAX) {
      wrong('gmsaCredentialSpec', `${credentials.slice(0, 64)}...`, 'size must be under 64 KiB')
    }
  }
  const user = memberOf(options, 'runAsUserName')
  if (typeof user === 'string') for (const words of checkUserName(user)) wrong('runAsUserName', user, words)
}

/** Control characters of ASCII; those from U+0080 on are allowed. */
const ASCII_CONTROL = /(?![\u0080-\u009f])\p{Cc}/u

function checkUserName(text: string): readonly string[] {
  if (text === '') return ['cannot be an empty string']
  if (ASCII_CONTROL.test(text)) return ['cannot contain control characters']
  const parts = text.split('\\')
  if (parts.length > 2) return ['cannot contain more than one backslash']
  const user = parts.at(-1) ?? ''
  const domain = parts.length === 2 ? (parts[0] ?? '') : null
  const wrong: string[] = []
  if (domain !== null && (domain.length >= DOMAIN_LENGTH_MAX || !/^[^\\/:*?"<>|]+$/.test(domain))) {
    wrong.push("'s Domain doesn't match the NetBios nor the DNS format")
  }
  if (user === '') wrong.push("'s User cannot be empty")
  else if (user.length > USER_LENGTH_MAX)
    wrong.push(`'s User length must not be longer than ${USER_LENGTH_MAX} characters`)
  else if (/^[. ]+$/.test(user)) wrong.push("'s User cannot contain only periods or spaces")
  else if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    wrong.push('\'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]')
  return wrong
}
