/*
 * Goal: the libraries that upstream adds to the language for validation rules work as upstream
 * documents them.
 * Method: a table of expressions with their values or errors, most of them examples of upstream.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resultOf } from './cel-support.ts'

const tables: Readonly<Record<string, readonly (readonly [expression: string, result: string])[]>> = {
  lists: [
    ['[1, 2, 2, 3].isSorted()', 'true'],
    ["['b', 'a'].isSorted()", 'false'],
    ['[1, 3].sum()', '4'],
    ['[1.5, 3.0].sum()', 'double 4.5'],
    ["[duration('1m'), duration('1s')].sum()", 'duration 61s'],
    ['[9223372036854775807, 1].sum()', 'error: integer overflow'],
    ['[3, 1, 2].min()', '1'],
    ["['b', 'c', 'a'].max()", '"c"'],
    ['[1].filter(x, x > 1).max()', 'error: max called on empty list'],
    ["['a', 'b', 'b'].indexOf('b')", '1'],
    ["['a', 'b', 'b'].lastIndexOf('b')", '2'],
    ["['a'].indexOf('z')", '-1'],
  ],
  'regular expressions': [
    ["'abc 123'.find('[0-9]+')", '"123"'],
    ["'abc'.find('[0-9]+')", '""'],
    ["'123 abc 456'.findAll('[0-9]+')", '["123", "456"]'],
    ["'123 abc 456'.findAll('[0-9]+', 1)", '["123"]'],
    ["'baab'.findAll('a*')", '["", "aa", ""]'],
    ["'abc'.findAll('b*')", '["", "b", ""]'],
    ["'baab'.findAll('a*', 2)", '["", "aa"]'],
    ["''.findAll('a*')", '[""]'],
    ["'123 abc 456'.findAll('[0-9]+', 0)", '[]'],
    ["'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')", 'false'],
    ["'a'.matches('(?=a)')", 'error: error parsing regexp: invalid or unsupported Perl syntax: `(?=`'],
  ],
  URLs: [
    ["isURL('https://user:pass@example.com:80/path?query=val#fragment')", 'true'],
    ["isURL('/absolute-path')", 'true'],
    ["isURL('https://a:b:c/')", 'false'],
    ["isURL('../relative-path')", 'false'],
    ["url('https://example.com:80/').getScheme()", '"https"'],
    ["url('/path').getScheme()", '""'],
    ["url('https://example.com:80/').getHost()", '"example.com:80"'],
    ["url('https://[::1]:80/').getHost()", '"[::1]:80"'],
    ["url('https://[::1]:80/').getHostname()", '"::1"'],
    ["url('https://example.com/').getPort()", '""'],
    ["url('https://example.com/path with spaces/').getEscapedPath()", '"/path%20with%20spaces/"'],
    ["url('https://example.com').getEscapedPath()", '""'],
    ["url('/%ff').getEscapedPath()", '"/%ff"'],
    ["url('/a b%2fc%ff%41(é').getEscapedPath()", '"/a%20b/c%FFA%28%C3%A9"'],
    ["isURL('/%f')", 'false'],
    ["url('/?a=%ff&b=%c3%a9&c=%f').getQuery()", '{"a": ["\ufffd"], "b": ["é"]}'],
    ["url('https://example.com/path?k1=a&k2=b&k1=c%20d').getQuery()", '{"k1": ["a", "c d"], "k2": ["b"]}'],
  ],
  quantities: [
    ["isQuantity('1.3Gi')", 'true'],
    ["isQuantity('1,3G')", 'false'],
    ["quantity('50M').isInteger()", 'true'],
    ["quantity('50m').isInteger()", 'false'],
    ["quantity('50k').asInteger()", '50000'],
    ["quantity('50m').asInteger()", 'error: cannot convert value to integer'],
    ["quantity('0.5').asApproximateFloat()", 'double 0.5'],
    ["quantity('-1').sign()", '-1'],
    ["quantity('150Mi').isGreaterThan(quantity('100Mi'))", 'true'],
    ["quantity('50k').compareTo(quantity('50000'))", '0'],
    ["quantity('50k').add(quantity('20k')) == quantity('70k')", 'true'],
    ["quantity('50k').sub(20000) == quantity('30k')", 'true'],
    ["quantity('x')", 'error: invalid quantity "x"'],
  ],
  addresses: [
    ["isIP('127.0.0.256')", 'false'],
    ["isIP('::ffff:1.2.3.4')", 'false'],
    ["ip('::1').family()", '6'],
    ["ip.isCanonical('2001:db8::abcd')", 'true'],
    ["ip.isCanonical('2001:DB8::ABCD')", 'false'],
    ["ip.isCanonical('2001:db8::0:0:0:abcd')", 'false'],
    ["string(ip('1:0:0:2:0:0:0:3'))", '"1:0:0:2::3"'],
    ["string(ip('64:ff9b::1.2.3.4'))", '"64:ff9b::102:304"'],
    ["ip('0.0.0.0').isUnspecified()", 'true'],
    ["ip('127.3.0.1').isLoopback()", 'true'],
    ["ip('224.0.0.1').isLinkLocalMulticast()", 'true'],
    ["ip('224.0.1.1').isLinkLocalMulticast()", 'false'],
    ["ip('ff02::1').isLinkLocalMulticast()", 'true'],
    ["ip('169.254.169.254').isLinkLocalUnicast()", 'true'],
    ["ip('fe80::1').isLinkLocalUnicast()", 'true'],
    ["ip('fd80::1').isLinkLocalUnicast()", 'false'],
    ["ip('255.255.255.255').isGlobalUnicast()", 'false'],
    ["ip('2001:db8::abcd').isGlobalUnicast()", 'true'],
    ["ip('ff00::1').isGlobalUnicast()", 'false'],
  ],
  networks: [
    ["isCIDR('192.168.0.0/33')", 'false'],
    ["cidr('192.168.0.0/24').containsIP(ip('192.168.0.1'))", 'true'],
    ["cidr('192.168.0.0/24').containsIP('192.168.1.1')", 'false'],
    ["cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", 'true'],
    ["cidr('192.168.1.0/24').containsCIDR(cidr('192.168.0.0/16'))", 'false'],
    ["cidr('192.168.0.1/24').ip() == ip('192.168.0.1')", 'true'],
    ["string(cidr('192.168.0.1/24').masked())", '"192.168.0.0/24"'],
    ["cidr('192.168.0.1/24') == cidr('192.168.0.1/24').masked()", 'false'],
    ["cidr('::1/128').prefixLength()", '128'],
  ],
  arithmetic: [
    ['-9223372036854775808 % -1', 'error: integer overflow'],
    ['-9223372036854775807 % -1', '0'],
    ["duration('1 day')", 'error: time: invalid duration "1 day"'],
  ],
  formats: [
    ["format.dns1123Label().validate('my-label')", 'none'],
    ["format.dns1123Label().validate('My-Label').hasValue()", 'true'],
    ["format.dns1123LabelPrefix().validate('my-label-').hasValue()", 'false'],
    ["format.uuid().validate('x').value()", '["does not match the UUID format"]'],
    ["format.named('date').value().validate('2021-01-01')", 'none'],
    ["format.named('other')", 'none'],
  ],
  doubles: [
    ['string(0.0001)', '"0.0001"'],
    ['string(0.00001)', '"1e-05"'],
    ['string(999999.5)', '"999999.5"'],
    ['string(1000000.0)', '"1e+06"'],
    ['string(-123456789.0)', '"-1.23456789e+08"'],
    ['string(1e100)', '"1e+100"'],
    ["double('1e308')", 'double 1e+308'],
    ['1e308', 'double 1e+308'],
    ["double('1_0.5_0e0_1')", 'double 105'],
    ["double('1e400')", `error: type conversion error from 'string' to 'double': "1e400"`],
    ["double('1__0')", `error: type conversion error from 'string' to 'double': "1__0"`],
    ["double('0x1p4')", 'double 16'],
    ["double('-0X_1.8P-1')", 'double -0.75'],
    ["double('0x.8p1')", 'double 1'],
    ["double('0x1')", `error: type conversion error from 'string' to 'double': "0x1"`],
    ["double('0x1p1024')", `error: type conversion error from 'string' to 'double': "0x1p1024"`],
    [
      "double('0x1.fffffffffffff8p1023')",
      `error: type conversion error from 'string' to 'double': "0x1.fffffffffffff8p1023"`,
    ],
    ["double('0x1.fffffffffffff7ffffffp1023') == 1.7976931348623157e308", 'true'],
    ["double('0x1.00000000000008p0') == 1.0", 'true'],
    ["double('0x1.000000000000080000001p0') == 1.0000000000000002", 'true'],
    ["double('0x1p-1074') == 5e-324", 'true'],
    ["double('0x1p-1075')", 'double 0'],
    ["double('0x1.8p-1075') == 5e-324", 'true'],
    ["double('0x0.fffffffffffff8p-1022') == 2.2250738585072014e-308", 'true'],
  ],
  sets: [
    ['sets.contains([1, 2, 3, 4], [2, 3])', 'true'],
    ['sets.contains([1], [1, 2])', 'false'],
    ['sets.equivalent([1], [1, 1])', 'true'],
    ['sets.intersects([1, 2], [2])', 'true'],
    ['sets.intersects([1], [])', 'false'],
  ],
}

void test('a double literal beyond the range does not compile', () => {
  for (const literal of ['1e999', '-1e309']) assert.match(resultOf(literal), /invalid double literal/)
})

for (const [library, table] of Object.entries(tables)) {
  void describe(`the library of ${library}`, () => {
    for (const [expression, result] of table) {
      void test(`${expression} is ${result}`, () => {
        assert.equal(resultOf(expression), result)
      })
    }
  })
}
