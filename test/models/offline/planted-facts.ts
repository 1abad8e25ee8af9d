/**
 * What a user tells once, with the words that must be left of it in brackets. Each set holds the twenty of the earlier bench, twenty written
 * before the summariser was changed for them, and twenty written when its rules stood.
 */
export const PLANTED_FACTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "generated-en": {
    "the bench": `
My grandmother was born in [Tromsø], above the polar circle.
Our wifi password is [heron-tango-88].
I take [levothyroxine] every morning before breakfast.
The new puppy is called [Biscuit].
My locker at the gym has the [number 417].
I am reading [Middlemarch] for my book club.
Our wedding anniversary is on the [9th of June].
My favourite colour is [turquoise].
I parked the car on [level C] of the garage.
The plumber charges [85 euros] an hour.
My blood type is [AB negative].
I keep the spare key under the blue [flowerpot].
My son wants to become a [geologist].
The dentist is called Dr. [Abernathy].
I wear shoes in [size 43].
We will fly to [Reykjavik] in August.
I can not stand [marzipan].
My first car was a yellow Fiat [Panda].
I have decided on the [walnut] shelf for the study.
The tax number of my firm is [DE-5521].
`,
    "held out": `
My daughter [Ines] starts school on the 2nd of September.
The loan runs until 2031 at [3.4 percent].
We settled on [Porto] for the honeymoon.
My passport expires in [November 2027].
I've got a [pacemaker].
Grandpa left me his [accordion].
The garage code is [7742].
I never drink coffee [after lunch].
Our landlord is Mr. [Petrov].
I ride a motorbike, a Honda [CB500].
My thesis supervisor is Professor [Lindqvist].
We cancelled the subscription to the [newspaper].
I speak [Basque] with my parents.
The vet weighs her at [12 kilos].
I've run two marathons, the fastest in [3:41].
I decided [against the surgery].
My flight number is [KL1699].
I'm [left-handed].
We adopted a [tortoise] in spring.
I want to retire [at 58].
`,
    "written afterwards": `
Please note that I [turn 40] in February.
The school is called [Hillcrest] Academy.
I drive to the office on [Wednesdays].
My mother-in-law is a retired [judge].
We bought the sofa for [1,250 dollars].
The lease ends on [30 November].
I chose the [window seat].
My cat [Pixel] needs insulin.
The recipe wants 200 grams of [tahini].
I wear glasses, [minus 4.5] on the left.
Uncle Dario runs a vineyard in [Umbria].
The meeting room is on [floor 9].
I quit smoking in [2019].
We named the boat [Marigold].
My employee number is [60318].
I hate being called by my [surname].
The warranty covers [five years].
I studied philosophy in [Ghent].
Send the invoice to [billing@orchid.example].
I have agreed to coach the [under-twelves].
`,
  },
  "generated-zh": {
    "the bench": `
我外婆出生在[漠河]，很冷的地方。
家里的无线密码是 [heron88]。
我每天早上吃[优甲乐]。
新来的小狗叫[饼干]。
我健身房的柜子是[417号]。
读书会这个月在读《[边城]》。
我们的结婚纪念日是[六月九号]。
我最喜欢的颜色是[青绿色]。
车停在地下三层[C区]。
水管工一小时收[85块]。
我的血型是[AB型]。
备用钥匙放在蓝色[花盆]下面。
我儿子想当[地质学家]。
我的牙医姓[欧阳]。
我穿[43码]的鞋。
八月我们要去[冰岛]。
我受不了[榴莲]的味道。
我的第一辆车是黄色的[熊猫]。
书房的架子我决定用[胡桃木]的。
公司的税号是 [SH5521]。
`,
    "held out": `
我女儿上小学三年级，叫[安琪]。
房贷利率是百分之[三点六]。
蜜月我们定了去[巴厘岛]。
我的护照[2027年11月]到期。
我装了心脏[起搏器]。
爷爷留给我一把[二胡]。
车库门的密码是[7742]。
我下午从来[不喝咖啡]。
房东是[彼得罗夫]先生。
我骑一辆[本田]摩托。
我的论文导师是[慕容]教授。
我们退订了那份[晚报]。
我跟父母说[闽南话]。
我家猫体重[六公斤半]。
我跑过两次马拉松，最好成绩是三小时[四十一分]。
我决定[不做手术]了。
我的航班是[KL1699]。
我是[左撇子]。
春天我们领养了一只[乌龟]。
我想[五十八岁]退休。
`,
    "written afterwards": `
我二月份就满[四十岁]了。
孩子的学校叫[育英]中学。
我每周三[开车上班]。
我岳母是退休[法官]。
沙发我们花了[八千六百元]。
租约[十一月三十日]到期。
我选了[靠窗]的座位。
我的猫小墨要打[胰岛素]。
这个配方要200克[芝麻酱]。
我左眼近视[四百五十度]。
大伯在[宁夏]种葡萄。
会议室在[九楼]。
我2019年[戒了烟]。
我们给船取名叫[金盏花]。
我的工号是[60318]。
我讨厌别人叫我[外号]。
[保修期]是五年。
我大学读的是[哲学]。
发票请发到 [billing@orchid.example]。
我答应当[少年队]的教练。
`,
  },
};
