import { checkDns1123Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'

/**
 * Checks a name such as `example.com/signer-name`: a domain, and the signer's name in it.
 *
 * @source upstream `pkg/apis/certificates/validation`
 */
export function checkSignerName(text: string): readonly string[] {
  const [domain = '', path, ...more] = text.split('/')
  if (path === undefined || more.length > 0) {
    return ["must be a fully qualified domain and path of the form 'example.com/signer-name'"]
  }
  const wrong: string[] = []
  if (domain.length > domainLengthMax)
    wrong.push(`the domain must have at most ${domainLengthMax} characters`)
  const labels = domain.split('.')
  wrong.push(...checkEach(labels, checkDns1123Label))
  if (labels.length < 2) wrong.push('should be a domain with at least two segments separated by dots')
  wrong.push(...checkEach(path.split('.'), checkDns1123Subdomain))
  if (text.length > lengthMax) wrong.push(`must have at most ${lengthMax} characters`)
  return wrong
}

const domainLengthMax = 253
/** A domain, a slash, and a path with the name of any object in any namespace. */
const lengthMax = domainLengthMax + 1 + 253 + 63 + 1

function checkEach(labels: readonly string[], rule: (text: string) => readonly string[]): readonly string[] {
  return labels.flatMap((label) =>
    rule(label).map((words) => `validating label ${JSON.stringify(label)}: ${words}`),
  )
}
